import { runCli } from '../support/cli';

describe('cai exec', () => {
  test('says that it cannot run anything yet, and what can be done instead', async () => {
    const { status, stdout, stderr } = await runCli(['exec', '--agent', 'claude', '--', 'true']);

    expect(status).toBe(11);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^cai: containers are not available .*: set CAI_ACP_DIRECT_SPAWN=1 .*\n$/);
  });
});
