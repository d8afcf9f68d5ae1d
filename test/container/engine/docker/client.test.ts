import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describeNothing, readBodiesHere } from '../../../../src/container/engine/docker/client';
import type { Modem } from '../../../../src/container/engine/docker/watch';

type DialOptions = Parameters<Modem['dial']>[0];

describe('readBodiesHere', () => {
  test.each([
    ['JSON', ['{"a":', '1}'], { a: 1 }],
    ['bytes', [Buffer.from([1, 0, 255])], Buffer.from([1, 0, 255])],
    ['nothing', [], Buffer.alloc(0)],
  ])('gives %s', async (_, chunks, body) => {
    expect(await dial(modemWith(Readable.from(chunks)))).toEqual(body);
  });

  test('fails if the answer breaks off', async () => {
    const answer = new Readable({ read: () => undefined });
    answer.push('{"a":');
    setImmediate(() => answer.destroy(new Error('aborted')));

    await expect(dial(modemWith(answer))).rejects.toThrow('aborted');
  });

  test('leaves a body alone that is wanted as a stream', async () => {
    const answer = Readable.from(['x']);

    expect(await dial(modemWith(answer), { isStream: true })).toBe(answer);
  });
});

test('describeNothing keeps all of a request but its description', () => {
  let sent: object = {};
  const modem = { buildRequest: (options: object) => void (sent = options) };
  describeNothing(modem);
  modem.buildRequest({ path: '/_ping', agent: { sockets: {} } });

  expect(sent).toMatchObject({ path: '/_ping', agent: { sockets: {} } });
  expect(inspect(sent, { showHidden: true, depth: null })).toBe('');
});

/** Gives `answer`, if it is asked for a stream. */
function modemWith(answer: Readable): Modem {
  const modem: Modem = {
    dial: ({ isStream }, done) => {
      if (isStream === true) done(null, answer);
    },
  };
  readBodiesHere(modem);
  return modem;
}

async function dial(modem: Modem, options: Partial<DialOptions> = {}): Promise<unknown> {
  return await new Promise((resolve, reject) => {
    modem.dial({ path: '/', method: 'GET', statusCodes: {}, ...options }, (error, answer) =>
      error === null ? resolve(answer) : reject(error),
    );
  });
}
