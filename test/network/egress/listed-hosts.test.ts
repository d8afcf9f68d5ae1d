import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalog } from '../../../src/agent/catalog';
import { agentHosts, commonHosts, type AgentHosts } from '../../../src/network/egress/listed-hosts';

const listsOf = ({ hosts, signIn, telemetry }: AgentHosts) => [hosts, signIn, telemetry];
const common = commonHosts.map(({ rule }) => rule);
const rules = [...common, ...Object.values(agentHosts).flatMap(listsOf).flat()];

describe('the built-in lists', () => {
  test('are there for every agent that needs no configuration', () => {
    expect(Object.keys(agentHosts)).toEqual(Object.keys(catalog));
    for (const { hosts } of Object.values(agentHosts)) expect(hosts).not.toEqual([]);
  });

  test.each([...new Set(rules)])('name hosts in full, or below a name of at least two parts: %s', (rule) => {
    expect(rule).toMatch(/^(?:\*\.)?(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,}(?::443)?$/);
  });

  test('name nothing twice', () => {
    for (const list of [common, ...Object.values(agentHosts).flatMap(listsOf)])
      expect(list).toEqual([...new Set(list)]);
  });

  test('allow by HTTP only what signs its packages', () => {
    const plain = commonHosts.filter(({ rule }) => !rule.endsWith(':443')).map(({ what }) => what);

    expect([...new Set(plain)]).toEqual(['Debian', 'Ubuntu', 'Alpine']);
    for (const { hosts, signIn } of Object.values(agentHosts))
      for (const rule of [...hosts, ...signIn]) expect(rule).toMatch(/:443$/);
  });

  test('refuse telemetry on every port, also below a name that is allowed', () => {
    for (const { telemetry } of Object.values(agentHosts))
      for (const rule of telemetry) expect(rule).not.toContain(':');
    expect(agentHosts.copilot!.telemetry).toContain('telemetry.individual.githubcopilot.com');
  });

  test('allow nothing where anybody can store what anybody sends', () => {
    const own = Object.values(agentHosts).flatMap(({ hosts, signIn }) => [hosts, signIn].flat());
    const stores = ['storage.googleapis.com', 'uploads.github.com', 'upload.pypi.org', 'gist.github.com'];

    for (const store of stores) {
      const wildcard = `*.${store.replace(/^[^.]*\./, '')}`;
      const covers = (rule: string) => [store, wildcard].includes(rule.replace(/:.*/, ''));
      expect([...common, ...own].filter(covers)).toEqual([]);
    }
  });
});

describe('docs/network.md', () => {
  const rows = readFileSync(join(__dirname, '../../../docs/network.md'), 'utf8')
    .split('## Built-in lists')[1]!
    .split('\n')
    .filter((line) => /^\|(?! -)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const cell = (list: readonly string[]) => list.map((rule) => `\`${rule}\``).join(', ') || '-';

  test('has the lists as they are', () => {
    const whose = [...new Set(commonHosts.map(({ what }) => what))];

    expect(rows).toEqual([
      ['Of', 'Hosts'],
      ...whose.map((of) => [of, cell(commonHosts.flatMap(({ what, rule }) => (what === of ? [rule] : [])))]),
      ['Agent', 'Models', 'Sign-in', 'Telemetry'],
      ...Object.entries(agentHosts).map(([agent, of]) => [agent, ...listsOf(of).map(cell)]),
    ]);
  });

  test('says in few words what there is to know', () => {
    const [text] = readFileSync(join(__dirname, '../../../docs/network.md'), 'utf8').split(
      '## Built-in lists',
    );
    const prose = text!.replace(/^\|.*$/gm, '');

    expect(prose.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThan(580);
  });
});
