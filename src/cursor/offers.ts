/** What the adapter offers an editor: capabilities, ways to sign in, modes and models. */
import {
  PROTOCOL_VERSION,
  type AuthMethod,
  type InitializeRequest,
  type InitializeResponse,
  type SessionConfigOption,
  type SessionModeState,
} from '@agentclientprotocol/sdk';
import { version } from '../../package.json';
import type { Model } from './account';
import type { SessionRecord } from './sessions';

export const signInMethods = { login: 'cursor_login', key: 'cursor-api-key' } as const;

/** The model where Cursor decides: then there is no `--model`. */
export const noModel = 'default';

export const modes: SessionModeState['availableModes'] = [
  { id: 'agent', name: 'Agent', description: 'Reads, writes and runs commands' },
  { id: 'plan', name: 'Plan', description: 'Makes a plan, and changes nothing' },
  { id: 'ask', name: 'Ask', description: 'Answers questions, and changes nothing' },
];

/** The answer to `initialize`; `isLasting`: sessions outlive this process. */
export function helloTo({ clientCapabilities }: InitializeRequest, isLasting: boolean): InitializeResponse {
  const { login, key } = signInMethods;
  const signIn = { id: login, name: 'Sign in to Cursor', description: 'Runs "cursor-agent login"' };
  const authMethods: AuthMethod[] = [
    // On a terminal the user sees the page that it names.
    clientCapabilities?.auth?.terminal === true ? { ...signIn, type: 'terminal', args: ['login'] } : signIn,
    { id: key, name: 'API key', description: 'The variable CURSOR_API_KEY, set where the agent runs' },
  ];
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'cai-cursor', title: 'Cursor', version },
    authMethods,
    agentCapabilities: {
      loadSession: isLasting,
      promptCapabilities: { embeddedContext: true },
      sessionCapabilities: { close: {}, ...(isLasting && { list: {}, resume: {}, delete: {} }) },
      auth: { logout: {} },
    },
  };
}

/** What a session tells when it is opened. */
export interface Settings {
  readonly modes: SessionModeState;
  readonly configOptions: SessionConfigOption[];
}

export function settingsOf({ mode, model }: SessionRecord, models: readonly Model[]): Settings {
  const known = [{ id: noModel, name: 'As set in Cursor' }, ...models];
  // The command line may have named one that is not listed.
  const listed = known.some(({ id }) => id === model) ? known : [...known, { id: model, name: model }];
  const options = listed.map(({ id, name }) => ({ value: id, name }));
  const select = { category: 'model', type: 'select', currentValue: model, options } as const;
  return {
    modes: { currentModeId: mode, availableModes: modes },
    configOptions: [{ id: 'model', name: 'Model', ...select }],
  };
}
