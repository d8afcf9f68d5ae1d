/** Attacks on the answers that an editor waits for: an agent that is stopped says nothing any more. */
import { attempt, reachedIf } from './attempt';
import { sceneFor } from './hostile-agent';

/** How long an editor may have to wait, in milliseconds. */
const inTimeMs = 30_000;

const scene = sceneFor();

/** An agent that does this gets a prompt: what is wrong with the answer, and with the session after it. */
async function hang(script: string): Promise<string | undefined> {
  const askedAt = performance.now();
  const { error } = await scene.editor.prompt(scene.session, JSON.stringify([{ sh: script }]));
  const tookMs = Math.round(performance.now() - askedAt);
  if (error === undefined) throw new Error('the agent was not stopped');
  await scene.newSession();
  await scene.sh('true');
  return reachedIf(tookMs > inTimeMs, `no answer for ${tookMs} ms`);
}

attempt('an agent that stops itself leaves the editor without an answer', async () => {
  return await hang('kill -STOP $PPID');
});

attempt(
  'an agent that stops all that runs in its container leaves the editor without an answer',
  async () => await hang('kill -STOP -1; kill -STOP $PPID'),
);

attempt(
  'an agent that ends what watches it, then stops itself, leaves the editor without an answer',
  async () => await hang("until pkill -9 -f '^[c]ai-watch'; do sleep 0.1; done; kill -STOP $PPID"),
);

// Last, for that goes on.
attempt(
  'an agent that ends whatever watches it, again and again, and stops itself leaves the editor without an answer',
  async () => {
    const again = 'while :; do pkill -9 -f "^[c]ai-watch"; sleep 0.2; done';
    return await hang(`setsid sh -c '${again}' < /dev/null > /dev/null 2>&1 & kill -STOP $PPID`);
  },
);
