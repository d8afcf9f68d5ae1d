import { constants } from 'node:buffer';
import { maxRecordingBytes, readRecording } from '../../../src/acp/recording/recording';

const head = '{"recording":1,"cai":"1","agent":"a","at":"2026-01-01T00:00:00.000Z"}\n';

test('a recording that is as long as it may be can be read at once, with its last record', () => {
  expect(maxRecordingBytes + 1_000).toBeLessThan(constants.MAX_STRING_LENGTH);
});

describe('readRecording', () => {
  test('gives the lines with their place in the file, and leaves out what is no line', () => {
    const text =
      head +
      '{"ms":1.5,"side":"from editor","line":"{\\"é\\":1}"}\n' +
      '{"ms":2,"event":"agent started","child":1,"workspace":"/w"}\n' +
      '{"ms":3,"side":"to agent","child":1,"base64":"/w=="}\n' +
      '{"ms":4,"side":"from agent","child":1,"overlong":true}\n' +
      '{"ms":5,"side":"from somebody","line":"x"}\n';

    expect(readRecording(text, 'f')).toEqual([
      { number: 2, ms: 1.5, side: 'from editor', child: undefined, bytes: Buffer.from('{"é":1}') },
      { number: 4, ms: 3, side: 'to agent', child: 1, bytes: Buffer.from([0xff]) },
    ]);
  });

  test('ignores a last line that was cut short', () => {
    expect(readRecording(`${head}{"ms":1,"side":"from edi`, 'f')).toEqual([]);
  });

  test.each([
    ['', 'f is no recording that this version of cai can read'],
    ['{"recording":2}\n', 'f is no recording that this version of cai can read'],
    ['{"from":"editor"}\n', 'f is no recording that this version of cai can read'],
    [`${head}x\n`, 'f:2 is no JSON object: the recording is damaged'],
    [`${head}{}\n7\n`, 'f:3 is no JSON object: the recording is damaged'],
  ])('refuses %j', (text, message) => expect(() => readRecording(text, 'f')).toThrow(message));
});
