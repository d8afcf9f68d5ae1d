import { Host } from '../../../src/system/host';
import { harmless } from '../../../src/acp/recording/harmless';
import type { RecordedLine, Side } from '../../../src/acp/recording/recording';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import { openLog } from '../../../src/system/log';

type Told = readonly [Side, string, number?];

const signIn = new SignIn({
  agent: undefined,
  host: new Host({}),
  log: openLog({ CAI_LOG_LEVEL: 'silent' }),
});
const asked = (id: number, method: string): string =>
  `{"jsonrpc":"2.0", "id":${id},"method":"${method}","params":{"sessionId":"s"}}`;
const answered = (id: number, result = '{}'): string => `{"jsonrpc":"2.0", "id":${id},"result":${result}}`;

/** What is left of these lines, and the numbers of the lines of which something is said. */
function left(
  told: readonly Told[],
  options: { child?: number; writesFiles?: boolean } = {},
): { lines: string[]; noted: number[] } {
  const lines = told.map(([side, text, child], index): RecordedLine => {
    return { number: index + 1, ms: 0, side, child, bytes: Buffer.from(text) };
  });
  const noted: number[] = [];
  const note = (text: string): void => void noted.push(Number(/^line (\d+)/.exec(text)![1]));
  const { child, writesFiles = false } = options;
  return {
    lines: harmless(lines, { child, writesFiles, signIn, note }).map(({ bytes }) => bytes.toString()),
    noted,
  };
}

describe('harmless', () => {
  test('leaves all that does nothing where the editor is, to the byte', () => {
    const told: Told[] = [
      ['from editor', asked(1, 'initialize')],
      ['to editor', answered(1, '{"protocolVersion":1,"authMethods":[{"id":"a", "n":1.0}]}')],
      ['to editor', asked(2, 'fs/read_text_file')],
      ['from editor', answered(2)],
    ];

    expect(left(told)).toEqual({ lines: told.map(([, text]) => text), noted: [] });
  });

  test.each(['terminal/create', 'terminal/none', 'proxy/x', 'fs/write_text_file', 'termin\\u0061l/create'])(
    'leaves out %s, and the answer to it alone',
    (method) => {
      const told: Told[] = [
        ['from editor', asked(7, 'session/prompt')],
        ['to editor', asked(7, method)],
        ['from editor', answered(7)],
        ['to editor', answered(7)],
        ['to editor', `{"method":"${method}"}`],
      ];

      expect(left(told)).toEqual({ lines: [told[0]![1], told[3]![1]], noted: [2, 5] });
    },
  );

  test('leaves files to be written where that is wanted', () => {
    const told: Told[] = [['to editor', asked(1, 'fs/write_text_file')]];

    expect(left(told, { writesFiles: true })).toEqual({ lines: [told[0]![1]], noted: [] });
  });

  test.each(['{"method":"x","method":"terminal/create"}', 'no JSON'])(
    'leaves out what two parsers could read differently: %s',
    (line) => expect(left([['to editor', line]])).toEqual({ lines: [], noted: [1] }),
  );

  test('takes out commands to sign in, of a result and of an error', () => {
    const methods = '[{"id":"a","type":"terminal"},{"id":"b"}]';
    const error = (list: string): string =>
      `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"m","data":{"authMethods":${list}}}}`;

    expect(
      left([
        ['to editor', answered(1, `{"authMethods":${methods}}`)],
        ['to editor', error(methods)],
      ]),
    ).toEqual({ lines: [answered(1, '{"authMethods":[{"id":"b"}]}'), error('[{"id":"b"}]')], noted: [1, 2] });
  });

  test('looks at the connection that is played', () => {
    const told: Told[] = [
      ['from agent', asked(1, 'terminal/create'), 2],
      ['from agent', asked(1, 'terminal/create'), 1],
      ['to agent', answered(1), 1],
    ];

    expect(left(told, { child: 1 })).toEqual({ lines: [told[0]![1]], noted: [2] });
  });
});
