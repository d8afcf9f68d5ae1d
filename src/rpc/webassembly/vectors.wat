;; What is done many bytes at a time, in vectors of 128 bits: what `vectors.ts` has in it as base64. A test compiles it
;; and compares. Where is what in the memory, is said there. What is read or written may go up to 31 bytes beyond
;; its end.
(module
  (memory (export "memory") 4)

  ;; How many bytes the last `rewrite` has written.
  (global $written (export "written") (mut i32) (i32.const 0))

  ;; Offset of the first byte at or after $at that is neither part of a string without more ado, nor of an escape
  ;; of one letter: a quote, a control character, the backslash of another escape. Such a byte must come. 32 bytes at
  ;; a time, and without a branch for each escape: nobody can guess where the next one is.
  (func $plainEnd (export "plainEnd") (param $at i32) (result i32)
    (local $low v128)
    (local $high v128)
    (local $lowQuotes v128)
    (local $highQuotes v128)
    (local $backslashes i64)
    (local $escaped i64)
    (local $stops i64)
    (local $carry i64)
    (local $quote v128)
    (local $backslash v128)
    (local $r v128)
    (local $btfn v128)
    (local $firstBits v128)
    (local $lastBits v128)
    (local $zero v128)
    (local.set $quote (i8x16.splat (i32.const 0x22)))
    (local.set $backslash (i8x16.splat (i32.const 0x5c)))
    (local.set $r (i8x16.splat (i32.const 0x72)))
    ;; By their last four bits: b t f \ n /, and else what no byte with these is.
    (local.set $btfn (v128.const i8x16 1 0 0x62 0 0x74 0 0x66 0 0 0 0 0 0x5c 0 0x6e 0x2f))
    (local.set $firstBits (i8x16.splat (i32.const 0xe0)))
    (local.set $lastBits (i8x16.splat (i32.const 0x0f)))
    (loop $next
      (local.set $low (v128.load (local.get $at)))
      (local.set $high (v128.load offset=16 (local.get $at)))
      (local.set $lowQuotes (i8x16.eq (local.get $low) (local.get $quote)))
      (local.set $highQuotes (i8x16.eq (local.get $high) (local.get $quote)))

      ;; A bit for each byte. Of backslashes in a row, each second one is escaped, and what comes behind an odd number
      ;; of them. A row that begins at an odd place is added to itself: the bit behind it is set then, and its place
      ;; tells how long the row is.
      (local.set $backslashes
        (i64.and
          (i64.extend_i32_u
            (i32.or
              (i8x16.bitmask (i8x16.eq (local.get $low) (local.get $backslash)))
              (i32.shl (i8x16.bitmask (i8x16.eq (local.get $high) (local.get $backslash))) (i32.const 16))))
          (i64.xor (local.get $carry) (i64.const -1))))
      (local.set $escaped (i64.or (i64.shl (local.get $backslashes) (i64.const 1)) (local.get $carry)))
      (local.set $stops
        (i64.add
          (local.get $backslashes)
          (i64.and
            (i64.and (local.get $backslashes) (i64.const 0xaaaaaaaa))
            (i64.xor (local.get $escaped) (i64.const -1)))))
      (local.set $carry (i64.and (i64.shr_u (local.get $stops) (i64.const 32)) (i64.const 1)))
      (local.set $escaped
        (i64.and
          (i64.and
            (i64.xor (i64.shl (local.get $stops) (i64.const 1)) (i64.const 0x55555555))
            (local.get $escaped))
          (i64.const 0xffffffff)))

      ;; It ends where something is escaped that is no such letter, at a control character, at a quote that is not
      ;; escaped.
      (local.set $stops
        (i64.or
          (i64.and
            (local.get $escaped)
            (i64.xor
              (i64.extend_i32_u
                (i32.or
                  (i8x16.bitmask (v128.or
                    (v128.or (local.get $lowQuotes) (i8x16.eq (local.get $low) (local.get $r)))
                    (i8x16.eq
                      (local.get $low)
                      (i8x16.swizzle (local.get $btfn) (v128.and (local.get $low) (local.get $lastBits))))))
                  (i32.shl (i8x16.bitmask (v128.or
                             (v128.or (local.get $highQuotes) (i8x16.eq (local.get $high) (local.get $r)))
                             (i8x16.eq
                               (local.get $high)
                               (i8x16.swizzle (local.get $btfn) (v128.and (local.get $high) (local.get $lastBits)))))) (i32.const 16))))
              (i64.const -1)))
          (i64.or
            (i64.extend_i32_u
              (i32.or
                (i8x16.bitmask (i8x16.eq (v128.and (local.get $low) (local.get $firstBits)) (local.get $zero)))
                (i32.shl (i8x16.bitmask (i8x16.eq (v128.and (local.get $high) (local.get $firstBits)) (local.get $zero))) (i32.const 16))))
            (i64.and
              (i64.extend_i32_u
                (i32.or
                  (i8x16.bitmask (local.get $lowQuotes))
                  (i32.shl (i8x16.bitmask (local.get $highQuotes)) (i32.const 16))))
              (i64.xor (local.get $escaped) (i64.const -1))))))
      (if (i64.eqz (local.get $stops))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (br $next))))
    (local.set $stops (i64.ctz (local.get $stops)))
    ;; Of an escape that is none of one letter, it is the backslash.
    (i32.wrap_i64
      (i64.sub
        (i64.add (i64.extend_i32_u (local.get $at)) (local.get $stops))
        (i64.and (i64.shr_u (local.get $escaped) (local.get $stops)) (i64.const 1)))))

  ;; Reads lines, in the $end bytes at 0, of which each is to be the $head bytes at 0x18100, the rest of a string, the
  ;; $tail bytes at 0x1a000, which begin with its quote, and a line end. As long as they are, writes them at 0x1b000
  ;; with the $newHead bytes at 0x19000 in place of the first. $head is 16 or more; the byte at $end is 0. Returns
  ;; how many bytes it has read: whole lines, and none from one whose string has an escape of several letters.
  (func (export "rewrite")
    (param $end i32) (param $head i32) (param $newHead i32) (param $tail i32) (result i32)
    (local $line i32)
    (local $out i32)
    (local $from i32)
    (local $at i32)
    (local $i i32)
    (local.set $out (i32.const 0x1b000))
    (block $over
      (loop $next
        (global.set $written (i32.sub (local.get $out) (i32.const 0x1b000)))
        (local.set $from (i32.add (local.get $line) (local.get $head)))
        (br_if $over (i32.gt_u (local.get $from) (local.get $end)))
        ;; The room that is needed if all that is left is one line.
        (br_if $over
          (i32.gt_u
            (i32.add (i32.add (local.get $out) (local.get $newHead)) (i32.sub (local.get $end) (local.get $line)))
            (i32.const 0x3afe0)))

        (local.set $i (i32.const 16))
        (loop $compare
          (br_if $over
            (v128.any_true
              (v128.xor
                (v128.load (i32.sub (i32.add (local.get $line) (local.get $i)) (i32.const 16)))
                (v128.load offset=0x180f0 (local.get $i)))))
          (if (i32.lt_u (local.get $i) (local.get $head))
            (then
              (local.set $i (i32.add (local.get $i) (i32.const 16)))
              ;; The last ones, with some that were compared already.
              (if (i32.gt_u (local.get $i) (local.get $head)) (then (local.set $i (local.get $head))))
              (br $compare))))

        (local.set $at (call $plainEnd (local.get $from)))
        (br_if $over (i32.ge_u (i32.add (local.get $at) (local.get $tail)) (local.get $end)))
        (local.set $i (i32.const 0))
        (loop $rest
          (br_if $over
            (i32.ne
              (i32.load8_u (i32.add (local.get $at) (local.get $i)))
              (i32.load8_u offset=0x1a000 (local.get $i))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $rest (i32.lt_u (local.get $i) (local.get $tail))))
        (local.set $at (i32.add (local.get $at) (local.get $tail)))
        (br_if $over (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x0a)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))

        (local.set $i (i32.const 0))
        (loop $copyHead
          (v128.store (i32.add (local.get $out) (local.get $i)) (v128.load offset=0x19000 (local.get $i)))
          (local.set $i (i32.add (local.get $i) (i32.const 16)))
          (br_if $copyHead (i32.lt_u (local.get $i) (local.get $newHead))))
        (local.set $out (i32.add (local.get $out) (local.get $newHead)))
        (local.set $i (local.get $from))
        (loop $copyRest
          (v128.store
            (i32.add (local.get $out) (i32.sub (local.get $i) (local.get $from)))
            (v128.load (local.get $i)))
          (local.set $i (i32.add (local.get $i) (i32.const 16)))
          (br_if $copyRest (i32.lt_u (local.get $i) (local.get $at))))
        (local.set $out (i32.add (local.get $out) (i32.sub (local.get $at) (local.get $from))))
        (local.set $line (local.get $at))
        (br $next)))
    (local.get $line)))
