import { Readable } from 'node:stream';
import { readBodiesHere } from '../../../../src/container/engine/docker/client';
import type { Modem } from '../../../../src/container/engine/docker/watch';

type DialOptions = Parameters<Modem['dial']>[0];

describe('readBodiesHere', () => {
  test.each([
    ['JSON', [Buffer.from('{"a":'), Buffer.from('1}')], { a: 1 }],
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
