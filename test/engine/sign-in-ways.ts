/** How somebody signs in to each agent by its own program, at `SignInWorld`. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isOpen } from '../support/ports';
import type { Running } from './running';
import { patienceMs } from '../support/patience';
import type { SignInWorld } from './sign-in-world';

/** Of one agent. */
export interface SignInWay {
  readonly agent: string;
  /** What somebody does in the terminal of `cai login`, and in the browser. */
  readonly signIn: (login: Running, world: SignInWorld) => Promise<void>;
  /** Where its program renews tokens; `undefined`: it does not. */
  readonly renewal?: string;
  /** Where its turns go. */
  readonly model: string;
  /** A shell command that makes what the program knows of the end of its access token a time that is over. */
  readonly age?: string;
}

/** All whose sign-ins stay on this machine. */
export const signInWays: readonly SignInWay[] = [
  {
    agent: 'claude',
    signIn: async (login, world) => {
      await login.says('Paste code here');
      const { searchParams } = world.visit(pageIn(login));
      login.child.stdin.write(`${searchParams.get('code')}#${searchParams.get('state')}\r`);
    },
    renewal: 'platform.claude.com/v1/oauth/token',
    model: 'api.anthropic.com/v1/messages',
  },
  {
    agent: 'codex',
    signIn: async (login, world) => {
      await login.says('https://auth.openai.com/oauth/authorize?');
      await login.says('originator=');
      await goThere(world.visit(pageIn(login)));
    },
    renewal: 'auth.openai.com/oauth/token',
    model: 'chatgpt.com/backend-api/codex/responses',
  },
  {
    agent: 'gemini',
    signIn: async (login, world) => {
      await login.says("Don't trust");
      await enterUntil(login, 'Get started');
      await enterUntil(login, 'Enter the authorization code');
      login.child.stdin.write(`${world.visit(pageIn(login)).searchParams.get('code')}\r`);
      await login.says('Signed in with Google');
      login.child.stdin.write('/quit');
      await login.says('Exit the cli');
      login.child.stdin.write('\r');
    },
    renewal: 'oauth2.googleapis.com/token',
    model: 'cloudcode-pa.googleapis.com/v1internal:streamGenerateContent',
    age: `sed -i 's/"expiry_date": *[0-9]*/"expiry_date":1/' ~/.gemini/oauth_creds.json`,
  },
  {
    agent: 'copilot',
    signIn: async (login, world) => {
      await login.says('Waiting for authorization');
      await goThere(world.visit(pageIn(login)));
      await login.says('(y/N)');
      login.child.stdin.write('y\r');
    },
    model: 'api.individual.githubcopilot.com/chat/completions',
  },
];

/** Presses Enter, again if need be: a program that is drawing its screen may not listen yet. */
async function enterUntil(login: Running, text: string): Promise<void> {
  for (let left = 3; ; left -= 1) {
    login.child.stdin.write('\r');
    try {
      await login.says(text, patienceMs / 3);
      return;
    } catch (reason) {
      if (left === 1) throw reason;
    }
  }
}

/** The page of the sign-in that a program has printed. */
function pageIn(login: Running): string {
  const [page] =
    /https:\/\/[\w.]+\/[\w/]*(?:authorize|auth)\?[\w%&=+.~:/-]+/.exec(login.stdout.toString()) ?? [];
  if (page === undefined) throw new Error(`no page: ${login.stdout.toString()}`);
  return page;
}

/** Goes where a browser is sent back to, and on, once the port is open on this machine. */
async function goThere(url: URL): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isOpen(Number(url.port))) && Date.now() < deadline) await pause(20);
  const [answer] = (await once(get(url), 'response')) as [IncomingMessage];
  answer.resume();
  const { location } = answer.headers;
  if (location !== undefined) await goThere(new URL(location, url));
}
