import type { Granted } from '../../../src/network/egress/ask';
import type { Decisions } from '../../../src/network/egress/decisions';
import { Policy, Refusal, type PolicyOptions } from '../../../src/network/egress/policy';

/** Each `note`, as one line. */
let notes: string[];
/** Each place that the user was asked about. */
let asked: string[];

beforeEach(() => {
  grant = new AbortController();
  notes = [];
  asked = [];
});

function policy(
  changes: Partial<PolicyOptions> = {},
  network: Partial<PolicyOptions['network']> = {},
): Policy {
  return new Policy({
    network: { egress: 'ask', allow: [], deny: [], ...network },
    listed: ['registry.example', '*.mirror.example:443'],
    telemetry: ['usage.registry.example'],
    isMachine: () => false,
    decisions: () => ({ allow: [], deny: [] }),
    ask: undefined,
    note: (...said) => notes.push(said.join(' | ')),
    ...changes,
  });
}

const answering = (answer: Granted | undefined) => (place: string) => {
  asked.push(place);
  return Promise.resolve(answer);
};

/** An answer that counts until this is aborted. */
let grant: AbortController;

/** What becomes of a connection: empty if it is admitted, else the reason. */
async function outcome(of: Policy, host: string, port = 443): Promise<string> {
  try {
    await of.admit({ host, port });
    return '';
  } catch (reason) {
    if (reason instanceof Refusal && reason.status === 403) return reason.message;
    throw reason;
  }
}

describe('admit', () => {
  it.each([
    ['registry.example', 443, ''],
    ['registry.example', 80, ''],
    ['registry.example', 22, 'registry.example:22 is not allowed'],
    ['a.mirror.example', 443, ''],
    ['a.mirror.example', 80, 'a.mirror.example:80 is not allowed'],
    ['other.example', 443, 'other.example:443 is not allowed'],
    ['8.8.8.8', 53, '8.8.8.8:53 is not allowed'],
  ])('follows the lists that come with cai: %s:%d', async (host, port, expected) => {
    expect(await outcome(policy(), host, port)).toMatch(expected === '' ? /^$/ : expected);
  });

  it('lets the user refuse what a list allows, and what he allows himself', async () => {
    const strict = policy({}, { allow: ['*.example'], deny: ['registry.example'] });

    expect(await outcome(strict, 'registry.example')).toBe(
      'registry.example:443 is refused by the rule "registry.example": see "cai network" on your machine',
    );
    expect(await outcome(strict, 'registry.example', 8080)).toContain('refused by the rule');
    expect(await outcome(strict, 'other.example')).toBe('');
  });

  it('follows what the user has decided for the workspace meanwhile', async () => {
    let decided = { allow: ['other.example'], deny: ['registry.example'] };
    const current = policy({ decisions: () => decided });

    expect(await outcome(current, 'other.example')).toBe('');
    expect(await outcome(current, 'registry.example')).toContain('refused by the rule');

    decided = { allow: [], deny: [] };

    expect(await outcome(current, 'other.example')).toContain('is not allowed');
    expect(await outcome(current, 'registry.example')).toBe('');
  });

  it('refuses everything where it cannot be known what the user has refused', async () => {
    const decisions = () => ({ allow: [], deny: [], fault: 'the file is damaged: remove it' });

    expect(await outcome(policy({ decisions }), 'registry.example')).toBe('the file is damaged: remove it');
  });

  it('refuses places that are told about usage, without a question, until the user allows them', async () => {
    const ask = answering(grant.signal);

    expect(await outcome(policy({ ask }), 'usage.registry.example')).toContain(
      'only collects data about usage',
    );
    expect(await outcome(policy({ ask }, { allow: ['*.registry.example'] }), 'usage.registry.example')).toBe(
      '',
    );
    expect(asked).toEqual([]);
  });

  it('asks about any other place', async () => {
    expect(await outcome(policy({ ask: answering(grant.signal) }), 'other.example', 8443)).toBe('');
    expect(await outcome(policy({ ask: answering(false) }), 'other.example')).toContain(
      'refused by the user',
    );
    expect(await outcome(policy({ ask: answering(undefined) }), 'other.example')).toContain(
      'nobody answered',
    );
    expect(asked).toEqual(['other.example:8443', 'other.example:443', 'other.example:443']);
  });

  it.each<[string, () => Decisions, boolean]>([
    ['nothing has changed', () => ({ allow: ['ruled.example'], deny: [] }), true],
    ['it is denied', () => ({ allow: ['ruled.example'], deny: ['*.example:*'] }), false],
    ['the rule is gone', () => ({ allow: [], deny: [] }), false],
    ['that cannot be known', () => ({ allow: [], deny: [], fault: 'damaged' }), false],
  ])('admits a place of a rule still, where %s: %#', async (_what, later, isAdmitted) => {
    let decided: Decisions = { allow: ['ruled.example'], deny: [] };
    const changing = policy({ decisions: () => decided });
    expect(await outcome(changing, 'ruled.example')).toBe('');

    decided = later();

    expect(changing.stillAdmits()({ host: 'ruled.example', port: 443 })).toBe(isAdmitted);
  });

  it('admits what was asked for until the answer counts no more', async () => {
    const asking = policy({ ask: answering(grant.signal) });
    const place = { host: 'other.example', port: 443 };
    expect(asking.stillAdmits()(place)).toBe(false);
    await asking.admit(place);
    expect(asking.stillAdmits()(place)).toBe(true);

    grant.abort();

    expect(asking.stillAdmits()(place)).toBe(false);
  });

  it('tells how to allow what is refused', async () => {
    expect(await outcome(policy(), 'other.example')).toContain(
      'run "cai network allow other.example:443" on your machine',
    );
  });

  it('asks nobody where only what is listed may leave', async () => {
    expect(
      await outcome(policy({ ask: answering(grant.signal) }, { egress: 'listed' }), 'other.example'),
    ).toContain('is not allowed');
    expect(asked).toEqual([]);
  });

  it.each(['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', '::ffff:7f00:1', 'fd00::1'])(
    'asks nobody about %s, which only a rule of addresses opens',
    async (host) => {
      const ask = answering(grant.signal);

      expect(await outcome(policy({ ask }, { allow: ['*:*'] }), host)).toContain('not public');
      expect(await outcome(policy({ ask }, { allow: [host.includes(':') ? `[${host}]` : host] }), host)).toBe(
        '',
      );
      expect(asked).toEqual([]);
    },
  );

  it('allows the registry that the configuration names', async () => {
    const own = policy({}, { npmRegistry: 'https://npm.corp.example:8443/path' });

    expect(await outcome(own, 'npm.corp.example', 8443)).toBe('');
    expect(await outcome(own, 'npm.corp.example', 443)).toContain('is not allowed');
  });

  it('notes each place and why', async () => {
    await outcome(policy({ ask: answering(grant.signal) }), 'other.example');
    await outcome(policy(), 'registry.example');
    await outcome(policy(), 'other.example');

    expect(notes).toEqual([
      'other.example:443 | allowed | the user allowed it',
      'registry.example:443 | allowed | built-in rule "registry.example"',
      expect.stringMatching(/^other\.example:443 \| refused \| other\.example:443 is not allowed/),
    ]);
  });
});

describe('permitted', () => {
  const place = { host: 'registry.example', port: 443 };

  it('leaves of the addresses of a name those that are public', () => {
    expect(policy().permitted(place, ['127.0.0.1', '8.8.8.8', '169.254.169.254', '::1'])).toEqual([
      '8.8.8.8',
    ]);
  });

  it('refuses a name that leads to no public address, and tells the rule that allows it', () => {
    expect(() => policy().permitted(place, ['10.0.0.7'])).toThrow(
      'registry.example:443 leads to 10.0.0.7, which is refused or not public: if that is right, run "cai network allow 10.0.0.7:443" on your machine',
    );
    expect(notes).toHaveLength(1);
    expect(() => policy().permitted({ host: 'localhost', port: 5432 }, ['127.0.0.1'])).toThrow(
      'localhost:5432 leads to 127.0.0.1, which is refused or not public: to let containers reach this port of your machine, add 5432 to "host_ports" below [network] in your configuration',
    );
    expect(policy({}, { allow: ['10.0.0.0/8'] }).permitted(place, ['10.0.0.7'])).toEqual(['10.0.0.7']);
    expect(
      policy({ decisions: () => ({ allow: ['10.0.0.7'], deny: [] }) }).permitted(place, ['10.0.0.7']),
    ).toEqual(['10.0.0.7']);
  });

  it('refuses addresses that a rule refuses', () => {
    expect(() => policy({}, { deny: ['8.0.0.0/8'] }).permitted(place, ['8.8.8.8'])).toThrow(
      'leads to 8.8.8.8',
    );
  });
});
