/**
 * What a program prints that is started in a pod. Source: Kubernetes, `v4.channel.k8s.io`: of each message, the first
 * byte is its channel.
 */
import type { WebSocket } from 'ws';
import { NodeSilent, ProgramFailure } from './api-error';
import type { Requests } from './requests';
import { objectIn } from '../../../../system/unless';

const stdoutChannel = 1;
const statusChannel = 3;
/** How long it may take, in milliseconds, and how much it may print. */
const limitMs = 15_000;
const maxBytes = 16 * 1024 * 1024;

/**
 * Resolves with its stdout. It gets no input, as this protocol cannot tell it that there is no more. Rejects as
 * `Requests.whole`.
 */
export async function printedBy(
  requests: Requests,
  { pod, container }: Readonly<Record<'pod' | 'container', string>>,
  argv: readonly string[],
): Promise<string> {
  const query = new URLSearchParams([
    ['container', container],
    ['stdout', '1'],
    ...argv.map((each): [string, string] => ['command', each]),
  ]);
  const asked = { pod, part: `exec?${query.toString()}`, maxPayload: maxBytes };
  return await requests.authorized((credentials) =>
    outputOf((onRefusal) => requests.socket(asked, credentials, onRefusal)),
  );
}

function outputOf(open: (onRefusal: (reason: Error) => void) => WebSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const printed: Buffer[] = [];
    let bytes = 0;
    const fail = (reason: Error): void => {
      clearTimeout(timer);
      reject(reason);
      webSocket.on('error', () => undefined);
      webSocket.terminate();
    };
    const webSocket = open(fail);
    const timer = setTimeout(() => fail(new NodeSilent(limitMs / 1_000)), limitMs);
    let isDone = false;
    webSocket.on('message', (message: Buffer) => {
      const content = message.subarray(1);
      if (message[0] === stdoutChannel) printed.push(content);
      if (message[0] === stdoutChannel && (bytes += content.length) > maxBytes)
        fail(new Error(`it prints more than ${maxBytes} bytes`));
      if (message[0] !== statusChannel) return;
      const { status, message: said } = objectIn(content.toString()) ?? {};
      if (status === 'Success') isDone = true;
      else fail(new ProgramFailure(typeof said === 'string' ? said : 'it has failed'));
    });
    webSocket.on('error', fail);
    webSocket.on('close', () => {
      if (!isDone) fail(new Error('the connection broke off'));
      clearTimeout(timer);
      resolve(Buffer.concat(printed).toString());
    });
  });
}
