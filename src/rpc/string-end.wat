;; The inside of JSON strings, 16 bytes at a time: what `string.ts` has in it as base64. A test compiles it
;; and compares.
(module
  (memory (export "memory") 2)

  ;; Offset of the first byte at or after $at that is neither part of a string without more ado, nor of an escape
  ;; of one letter: a quote, a control character, the backslash of another escape. Such a byte must come.
  (func (export "plainEnd") (param $at i32) (result i32)
    (local $bytes v128)
    (local $stops i32)
    (local $letter i32)
    (loop $next
      (local.set $bytes (v128.load (local.get $at)))
      (local.set $stops
        (i8x16.bitmask
          (v128.or
            (i8x16.lt_u (local.get $bytes) (i8x16.splat (i32.const 0x20)))
            (v128.or
              (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))    ;; "
              (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c)))))) ;; \
      )
      (if (i32.eqz (local.get $stops))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br $next)))
      (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $stops))))
      (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x5c))
        (then (return (local.get $at))))
      (local.set $letter (i32.load8_u offset=1 (local.get $at)))
      (if
        (i32.or
          (i32.or
            (i32.or
              (i32.eq (local.get $letter) (i32.const 0x6e))   ;; n
              (i32.eq (local.get $letter) (i32.const 0x22)))  ;; "
            (i32.or
              (i32.eq (local.get $letter) (i32.const 0x5c))   ;; \
              (i32.eq (local.get $letter) (i32.const 0x2f)))) ;; /
          (i32.or
            (i32.or
              (i32.eq (local.get $letter) (i32.const 0x62))   ;; b
              (i32.eq (local.get $letter) (i32.const 0x66)))  ;; f
            (i32.or
              (i32.eq (local.get $letter) (i32.const 0x72))   ;; r
              (i32.eq (local.get $letter) (i32.const 0x74)))));; t
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 2)))
          (br $next))))
    (local.get $at)))
