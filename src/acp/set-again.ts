import type { CaiError } from '../errors';
import type { Log } from '../log';
import type { Session } from '../session/workspace-child';
import type { Setting } from './session-settings';
import { within } from './within';

/** How long a mode or an option may take to be set again, in milliseconds. */
const settingMs = 10_000;

/** Sets something again in a session; what the agent does not want is only noted. False: it has not answered. */
export async function setAgain(session: Session, { method, params }: Setting, log: Log): Promise<boolean> {
  const { child, agentId } = session;
  const text = JSON.stringify({ ...params, sessionId: agentId });
  const failed = (reason: string): void => log.warn({ method, reason }, 'could not be set again');
  const answered = new Promise<true>((resolve) => {
    const onFailure = (reason: CaiError): void => {
      failed(reason.code);
      resolve(true);
    };
    child.whenReady({
      bytes: text.length,
      run: () =>
        child.ask(method, text, {
          resultPlan: undefined,
          editorId: undefined,
          onAnswer: ({ isError }) => {
            if (isError) failed('the agent refused it');
            resolve(true);
          },
          onFailure,
        }),
      onFailure,
    });
  });
  if ((await within(settingMs, answered)) === true) return true;
  failed(`no answer in ${settingMs / 1_000} s`);
  return false;
}
