import { Metrics } from '../../../src/served/server/metrics';
import type { ServedConnection } from '../../../src/served/server/served-connection';

/** The samples by their names with labels; fails for a text that Prometheus would not take. */
function parsed(text: string): Record<string, number> {
  const samples: Record<string, number> = {};
  let described = '';
  let type = '';
  for (const line of text.trimEnd().split('\n').filter(Boolean)) {
    const comment = /^# (HELP|TYPE) ([a-z_]+) (\S.*)$/.exec(line);
    if (comment?.[1] === 'HELP') described = comment[2]!;
    else if (comment?.[1] === 'TYPE') {
      expect(comment[2]).toBe(described);
      type = comment[3]!;
      expect(['counter', 'gauge', 'histogram']).toContain(type);
      if (type === 'counter') expect(described).toMatch(/_total$/);
    } else {
      const sample = /^([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\S+)$/.exec(line);
      expect(sample).not.toBeNull();
      const [, name, labels = '', value] = sample!;
      const suffix = type === 'histogram' ? /_(?:bucket|sum|count)$/ : /(?!)/;
      expect(name!.replace(suffix, '')).toBe(described);
      expect(samples).not.toHaveProperty([name! + labels]);
      samples[name! + labels] = Number(value);
    }
  }
  return samples;
}

/** What is counted of a connection. */
const connection = (isAttached: boolean, sessionIds: readonly string[]): ServedConnection =>
  ({ isAttached, sessionIds }) as never;

test('count what is open, and what was', async () => {
  const metrics = new Metrics(() => [connection(true, ['a', 'b']), connection(false, ['c'])]);
  metrics.opened();
  metrics.opened();
  metrics.returned();
  metrics.ended(true);
  metrics.ended(false);
  metrics.refused(401);
  metrics.answered('session/prompt', 20_000, false);
  metrics.answered('session/new', 100, true);
  metrics.told({ kind: 'agent-started', isNew: true });
  metrics.told({ kind: 'agent-started', isNew: false });
  metrics.told({ kind: 'agent-ended' });
  metrics.told({ kind: 'agent-refused', code: 'NO_PLACE' });
  const { type, body } = await metrics.text();

  expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(parsed(body)).toMatchObject({
    cai_serve_connections: 2,
    cai_serve_connections_away: 1,
    cai_serve_sessions: 3,
    cai_serve_connections_opened_total: 2,
    cai_serve_returns_total: 1,
    'cai_serve_processes_ended_total{expected="true"}': 1,
    'cai_serve_processes_ended_total{expected="false"}': 1,
    cai_serve_agents_ended_total: 1,
    'cai_serve_agents_started_total{container="new"}': 1,
    'cai_serve_agents_started_total{container="running"}': 1,
    'cai_serve_agent_starts_failed_total{code="NO_PLACE"}': 1,
    'cai_serve_refused_total{status="401"}': 1,
    'cai_serve_turn_seconds_bucket{le="15"}': 0,
    'cai_serve_turn_seconds_bucket{le="60"}': 1,
    cai_serve_turn_seconds_sum: 20,
    'cai_serve_call_seconds_count{method="session/new"}': 1,
    'cai_serve_calls_failed_total{method="session/new"}': 1,
  });
});

test('name no method that a client may have made up', async () => {
  const metrics = new Metrics(() => []);
  metrics.answered('_secret', 1, true);

  expect((await metrics.text()).body).not.toContain('secret');
});

test('are of one server each', async () => {
  new Metrics(() => []).opened();

  expect(parsed((await new Metrics(() => []).text()).body).cai_serve_connections_opened_total).toBe(0);
});
