/** What a service beside the container of an agent has printed last, as its engine keeps it. */
import { label } from '../../container/spec/labels';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { printable, quoted } from '../../system/quoted';
import { connectEngine } from '../containers/selection';
import { namedRoot } from '../support/named-root';

/** Writes the lines to stdout; resolves with 0. Rejects with `CONTAINER_NOT_FOUND` where there is no such service. */
export async function showServiceLog(
  service: string,
  wanted: { readonly workspace?: string; readonly agent?: string; readonly lines: number },
  host: Host,
): Promise<number> {
  const root = await namedRoot(wanted.workspace ?? '.', host);
  const engine = await connectEngine(host, undefined);
  const labels = { [label.service]: service, [label.user]: String(host.user.uid), [label.workspace]: root };
  const found = (await engine.listContainers(labels)).filter(
    ({ labels: { [label.agent]: agent } }) => (wanted.agent ?? agent) === agent,
  );
  const [one, ...others] = found;
  if (one === undefined)
    throw new CaiError(
      'CONTAINER_NOT_FOUND',
      `there is no service ${quoted(service)} in the workspace ${quoted(root)}: it is there once "cai exec" has started it`,
    );
  if (others.length > 0) {
    const agents = found.map(({ labels: { [label.agent]: agent } }) => agent).join(', ');
    throw new CaiError('USAGE', `several agents have a service ${quoted(service)} (${agents}): use --agent`);
  }
  const text = printable(await engine.logsTail(one.id, wanted.lines));
  process.stdout.write(text === '' || text.endsWith('\n') ? text : `${text}\n`);
  return 0;
}
