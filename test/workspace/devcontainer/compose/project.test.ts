import { composeProject, mainService } from '../../../../src/workspace/devcontainer/compose/project';

const settings = { dockerComposeFile: 'c.yml', service: 'app' };
const service = (text: string, env?: string) => {
  const project = composeProject(settings, '/f', (path) => (path === '/.env' ? env : text))!;
  return mainService(project, '/f').keys;
};

describe('mainService', () => {
  test('lets no variable of this machine in', () => {
    process.env.CAI_COMPOSE = 'secret';
    const image = 'a:${CAI_COMPOSE}$CAI_COMPOSE-${CAI_COMPOSE:-x}-${OTHER-y}-$${KEPT}';

    expect(service(`services: { app: { image: '${image}' } }`)).toMatchObject({ image: 'a:-x-y-${KEPT}' });
  });

  test.each([
    ['$A/${A}', 'a/a'],
    ['${A:-x}${A-x}${EMPTY:-x}${EMPTY-x}${NONE-x}', 'aaxx'],
    ['${A:+x}${EMPTY:+x}${EMPTY+y}${NONE+x}', 'xy'],
    ['${A:?why}${NONE?why}', 'a'],
    ['${NONE:-${A}-${NONE:-z}}', 'a-z'],
    ['$$A ${not a name} $1', '$A ${not a name} $1'],
  ])('replaces the variables of .env in %s', (image, replaced) => {
    const env = '# comment\nexport A="a"\nEMPTY=\n';

    expect(service(JSON.stringify({ services: { app: { image } } }), env)).toMatchObject({ image: replaced });
  });

  test('follows anchors', () => {
    const text = 'x-base: &base { image: a }\nservices: { app: { <<: *base } }';

    expect(service(text)).toMatchObject({ image: 'a' });
  });

  const list = (name: string) => `[${Array<string>(10).fill(`*${name}`).join(', ')}]`;
  test.each([
    ['no such service', 'services: { db: { image: a } }', 'which no Compose file has'],
    ['a list', '- a', 'holds no services'],
    ['no YAML', 'services:\n  app: [', /^\/c\.yml: .* at line 2, column 9/],
    ['too much', `#${' '.repeat(2 ** 16)}`, '/c.yml: Compose files can have at most 64 KiB'],
    ['deep lists', '['.repeat(2 ** 15), '/c.yml:1: more than 100 lists and objects lie in each other'],
    ['deep lists of lines', '- '.repeat(2 ** 14), '/c.yml:1: more than 100 lists'],
    ['keys that are no words', '? '.repeat(50), '/c.yml: a key of the object at line 1 is no word'],
    [
      'keys that are equal',
      'a: 1\nb: { c: 1,\n c: 2 }',
      '/c.yml: "c" is twice in one object, again at line 3',
    ],
    [
      'aliases that become much',
      `a: &a [x]\nb: &b ${list('a')}\nc: &c ${list('b')}\nservices: { app: ${list('c')} }`,
      '/c.yml: Excessive alias count',
    ],
    [
      'merges that become much',
      `a: &a { x: 1 }\nb: &b { <<: ${list('a')} }\nc: &c { <<: ${list('b')} }\nservices: { app: { <<: ${list('c')} } }`,
      '/c.yml: Excessive alias count',
    ],
    [
      'variables that become much',
      `services: { app: { image: "${'${A}'.repeat(2_000)}" } }`,
      'stand for more than 1 MiB',
    ],
  ])('refuses %s', (_, text, why) => expect(() => service(text, `A=${'x'.repeat(1_000)}`)).toThrow(why));

  test('takes no longer for many keys in one object than in many objects', () => {
    const keys = Array.from({ length: 12_000 }, (_, at) => `k${at.toString(36)}`);
    const rows = Array.from({ length: 240 }, (_, at) => `{${keys.slice(at * 50, at * 50 + 50).join()}}`);
    const msFor = (text: string) => {
      const before = process.cpuUsage();
      service(`services: { app: { image: a } }\nx: ${text}`);
      return process.cpuUsage(before).user;
    };

    const ofMany = Math.min(msFor(`[${rows.join()}]`), msFor(`[${rows.join()}]`));

    expect(msFor(`{${keys.join()}}`)).toBeLessThan(4 * ofMany);
  });
});
