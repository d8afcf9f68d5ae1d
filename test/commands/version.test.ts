import { version } from '../../package.json';
import { runCli } from '../support/cli';

describe('cai --version', () => {
  test.each(['--version', 'version'])('writes the version: cai %s', async (command) => {
    expect(await runCli([command])).toEqual({ status: 0, stdout: `cai ${version}\n`, stderr: '' });
  });
});
