import { voiceOf } from '../../../src/commands/containers/voice';
import { Writable } from 'node:stream';

test('what a container waits for is a delay, and told in the threads of its agent, until it is over', () => {
  let said = '';
  const status = new Writable({ write: (chunk, _, done) => done(void (said += String(chunk))) });
  const { wait } = voiceOf(true, status);

  wait('waiting for a node: 2 Insufficient memory');
  wait('waiting for a node: 2 Insufficient memory');
  wait(undefined);

  const told = [
    { kind: 'delay', text: 'cai: waiting for a node: 2 Insufficient memory' },
    {
      kind: 'warning',
      title: 'The agent cannot start yet.',
      description: 'Its container is waiting for a node: 2 Insufficient memory.',
    },
  ];
  const lines = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(lines).toEqual([...told, ...told, { kind: 'resumed' }]);
});
