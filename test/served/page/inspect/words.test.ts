import { durationText, sizeText, timeText } from '../../../../src/served/page/inspect/words';

test.each([
  [0, '0.000'],
  [12_345.6, '12.346'],
  [184_050, '3:04.050'],
  [3_723_004, '1:02:03.004'],
])('%d ms after the start is %s', (ms, text) => expect(timeText(ms)).toBe(text));

test.each([
  [0.42, '0.4 ms'],
  [85.4, '85 ms'],
  [3_200, '3.2 s'],
  [245_000, '4 min 5 s'],
])('%d ms last %s', (ms, text) => expect(durationText(ms)).toBe(text));

test.each([
  [85, '85 B'],
  [1_234, '1.2 kB'],
  [4_000_000, '4.0 MB'],
])('%d bytes are %s', (bytes, text) => expect(sizeText(bytes)).toBe(text));
