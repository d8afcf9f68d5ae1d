import { encodeHeader, type RemoteCommand } from '../../../src/container/ssh/remote-command';

const command: RemoteCommand = { argv: ['run', 'a b', ''], cwd: '/w', env: [['NAME', 'x=y\n']] };

describe('encodeHeader', () => {
  test('is the length in bytes, and fields that end with NUL', () => {
    expect(encodeHeader(command).toString()).toBe('24\n/w\x003\0run\0a b\0\0NAME=x=y\n\0');
    expect(encodeHeader({ argv: ['é'], cwd: '/', env: [] }).toString()).toBe('7\n/\x001\0é\0');
  });

  test.each<[string, Partial<RemoteCommand>, string]>([
    ['a NUL in an argument', { argv: ['run', 'sec\0ret'] }, 'argument 1 of the command'],
    ['half a character in the program', { argv: ['sec\ud800ret'] }, 'the command'],
    ['a NUL in the folder', { cwd: '/sec\0ret' }, 'the working directory'],
    ['a NUL in a value', { env: [['NAME', 'sec\0ret']] }, 'the environment variable NAME'],
    ['a name with an equals sign', { env: [['A=B', 'secret']] }, '"A=B"'],
    ['an empty name', { env: [['', 'secret']] }, '""'],
  ])('refuses %s and names no value', (_, change, named) => {
    const encode = () => encodeHeader({ ...command, ...change });

    expect(encode).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
    expect(encode).toThrow(named);
    expect(encode).not.toThrow(/sec.?ret/s);
  });

  test('lets pairs of surrogates pass', () => {
    expect(encodeHeader({ ...command, argv: ['😀'] }).toString()).toContain('😀');
  });
});
