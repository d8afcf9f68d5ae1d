import type { Change } from '../../../src/workspace/review/changes';
import { differenceOf } from '../../../src/workspace/review/difference';

/** A change of a text file; undefined: there is none. */
function difference(before: string | undefined, now: string | undefined, name = '.envrc'): string {
  const [was, is] = [before, now].map((text) => (text === undefined ? undefined : Buffer.from(text)));
  const change = {
    name,
    before: was && `file 644 ${'0'.repeat(64)}`,
    now: is && { state: `file 755 ${'1'.repeat(64)}`, bytes: is },
  };
  return differenceOf(change as unknown as Change, was);
}

test('shows all of a new file, and with it how it may be used', () => {
  expect(difference(undefined, 'a\nb\n')).toBe('--- nothing\n+++ .envrc\n+(file, mode 755)\n+a\n+b\n');
});

test('shows what was there of a file that is gone', () => {
  expect(difference('a', undefined)).toBe('--- .envrc\n+++ nothing\n-(file, mode 644)\n-a\n');
});

test('shows what differs, with some lines around it', () => {
  const lines = Array.from({ length: 20 }, (_, i) => `${i}`);
  const state = `file 644 ${'0'.repeat(64)}`;
  const is = Buffer.from(lines.with(10, 'ten\nten and a half').join('\n'));
  const change = { name: 'mise.toml', before: state, now: { state, bytes: is } };

  expect(differenceOf(change as unknown as Change, Buffer.from(lines.join('\n')))).toBe(
    '--- mise.toml\n+++ mise.toml\n 7\n 8\n 9\n-10\n+ten\n+ten and a half\n 11\n 12\n 13\n',
  );
});

test.each([
  ['a', 'a\na', '+a'],
  ['a\na', 'a', '-a'],
  ['', 'a', '+a'],
])('tells lines that repeat: %j, %j', (before, now, expected) => {
  const lines = difference(before, now).trimEnd().split('\n').slice(2);
  expect(lines.filter((line) => !/^ |mode/.test(line))).toEqual([expected]);
});

test('replaces what could steer a terminal, in names and in text', () => {
  expect(difference(undefined, 'a\u001b[2Jb\u202ec\rd\n', 'x\n\u001b]0;')).toBe(
    '--- nothing\n+++ x \ufffd]0;\n+(file, mode 755)\n+a\ufffd[2Jb\ufffdc\n+d\n',
  );
});

test('says what is no text, and counts what is very much', () => {
  expect(difference(undefined, 'a\0b')).toContain('+(no text, 3 bytes)\n');
  expect(difference(undefined, 'x\n'.repeat(1_000))).toMatch(/\+x\n\(601 more lines\)\n$/);
});

test.each([
  ['link /etc/\u001bpasswd', '(symbolic link to /etc/\ufffdpasswd)'],
  ['crowd', '(too much to look at, or not readable)'],
  ['other', '(neither a file nor a folder)'],
  ['file 644 of 4 bytes, changed 1', '(content not shown: too long, not readable, or no copy was kept)'],
])('says what is there instead of a file: %s', (state, text) => {
  const change = { name: '.envrc', before: undefined, now: { state } };
  expect(differenceOf(change as unknown as Change, undefined)).toContain(`+${text}\n`);
});

test('tells of a folder that others can write in it', () => {
  const change = { name: '.git/', before: undefined, now: { state: 'open folder 777' } };

  expect(differenceOf(change as unknown as Change, undefined)).toBe(
    '--- nothing\n+++ .git/\n+(folder, mode 777: other users of this machine can write in it)\n',
  );
});
