import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../../../src/network/keys/secret';
import { messageOf } from '../../../src/errors';
import { newFolder } from '../../support/temp-folder';

/** What a key from there is; the message where there is none. */
async function keyFrom(
  from: string | readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  return await new Secret({ for: 'anthropic', from }, { env })
    .key()
    .catch((reason: unknown) => messageOf(reason));
}

describe('Secret', () => {
  it('comes from a variable, a file or a program, without the space around it', async () => {
    const file = join(newFolder(), 'key');
    writeFileSync(file, 'from-file\n');

    expect(await keyFrom('env:MY_KEY', { MY_KEY: ' from-env ' })).toBe('from-env');
    expect(await keyFrom(`file:${file}`)).toBe('from-file');
    expect(
      await keyFrom(['sh', '-c', 'echo "$PART-program"'], { PATH: process.env.PATH, PART: 'from' }),
    ).toBe('from-program');
  });

  it.each([
    ['env:MY_KEY', {}, 'the key for anthropic cannot be had from env:MY_KEY: no key is there'],
    ['file:/nowhere/key', {}, 'the key for anthropic cannot be had from file:/nowhere/key: no such file'],
    [
      ['sh', '-c', 'echo secret; exit 3'],
      {},
      'the key for anthropic cannot be had from the program sh: it ended with 3',
    ],
    [['/nowhere/program'], {}, 'the program /nowhere/program: there is no such program'],
    ['env:MY_KEY', { MY_KEY: 'two words' }, 'what env:MY_KEY has is no key for anthropic'],
    ['env:MY_KEY', { MY_KEY: 'line\r\nX: y' }, 'what env:MY_KEY has is no key for anthropic'],
    ['env:MY_KEY', { MY_KEY: 'x'.repeat(20_000) }, 'what env:MY_KEY has is no key for anthropic'],
  ] as const)('says of %j what is wrong, and nothing of the key', async (from, env, message) => {
    const said = await keyFrom(from, { PATH: process.env.PATH, ...env });

    expect(said).toContain(message);
    expect(said).not.toMatch(/secret|two words|X: y|xxx/);
  });

  it('is taken once for a while, and again after a failure', async () => {
    const file = join(newFolder(), 'key');
    const secret = new Secret({ for: 'anthropic', from: `file:${file}` }, { env: {} });

    await expect(secret.key()).rejects.toThrow('no such file');
    writeFileSync(file, 'first');
    expect(await secret.key()).toBe('first');
    writeFileSync(file, 'second');
    expect(await secret.key()).toBe('first');
  });
});
