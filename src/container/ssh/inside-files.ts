import { limitedText } from './limited-text';
import type { SshConnection } from './ssh';

/**
 * The text of files in a container, one after the other, without those that are not there; empty too if nobody can know,
 * as without a connection, or from a container that does not just answer.
 */
export async function textInside(
  connection: Pick<SshConnection, 'run'>,
  paths: readonly string[],
): Promise<string> {
  try {
    const command = await connection.run({ argv: ['/bin/cat', ...paths], cwd: '/', env: [] });
    command.stderr.resume();
    return await limitedText(command.stdout);
  } catch {
    return '';
  }
}
