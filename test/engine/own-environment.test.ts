/**
 * A project as its people have it: its language, its database, its development container or none, and in each session a
 * worktree of its own, in which a real agent runs the project's tests.
 */
import { randomUUID } from 'node:crypto';
import { catalog } from '../../src/agent/catalog';
import { Editor } from './editor';
import { base, hasDevcontainers, newProject, removeImages, trust, type Files } from './devcontainers';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs } from './place';
import { git, nameAuthor } from './repository';
import { buildServiceImage, serviceImage } from './service-image';
import { tried } from '../support/nightly';
import { Cai, docker, newWorkspace, ownFile } from './support';

/** Fails in a database that another worktree uses, too. */
const query = 'create table only_once (n int); insert into only_once values (42); select n from only_once';
const password = 'pw';
const psql = ['-qtA', `postgresql://postgres:${password}@db`, '-c', query];
/** As the arguments of a call. */
const args = psql.map((each) => JSON.stringify(each)).join(', ');

interface Language {
  /** Of Debian. */
  readonly packages: string;
  readonly files: Files;
  readonly command: string;
  /** What that prints of a test that has passed. */
  readonly passes: RegExp;
}

const languages: Readonly<Record<string, Language>> = {
  Python: {
    packages: 'python3',
    files: {
      'test_db.py': `import subprocess, unittest
class Db(unittest.TestCase):
  def test_query(self):
    self.assertEqual(subprocess.check_output(['psql', ${args}], text=True).strip(), '42')
`,
    },
    command: 'python3 -m unittest -v 2>&1',
    passes: /test_query .*ok/,
  },
  Go: {
    packages: 'golang-go',
    files: {
      'go.mod': 'module example.com/db\n\ngo 1.19\n',
      'db_test.go': `package db

import ("os/exec"; "strings"; "testing")

func TestQuery(t *testing.T) {
	out, err := exec.Command("psql", ${args}).Output()
	if err != nil || strings.TrimSpace(string(out)) != "42" { t.Fatal(string(out), err) }
}
`,
    },
    command: 'go test -v ./...',
    passes: /--- PASS: TestQuery/,
  },
  Rust: {
    packages: 'cargo',
    files: {
      'Cargo.toml': '[package]\nname = "db"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/lib.rs': `#[test]
fn query() {
    let out = std::process::Command::new("psql").args([${args}]).output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap().trim(), "42");
}
`,
    },
    command: 'cargo test --offline --lib 2>/dev/null',
    passes: /test query \.\.\. ok/,
  },
  Node: {
    packages: '',
    files: {
      'db.test.mjs': `import { test } from 'node:test';
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
test('query', () => assert.equal(execFileSync('psql', [${args}], { encoding: 'utf8' }).trim(), '42'));
`,
    },
    command: 'node --test --test-reporter=tap db.test.mjs | head -5',
    passes: /ok 1 - query/,
  },
};

const health = ['pg_isready', '-h', '/run/postgresql'];

/** Of a repository whose development container has the database beside it. */
const compose = {
  services: {
    app: {
      build: '.devcontainer',
      depends_on: { db: { condition: 'service_healthy' } },
    },
    db: {
      image: serviceImage,
      command: 'postgres',
      environment: { POSTGRES_PASSWORD: password },
      healthcheck: { test: ['CMD', ...health] },
    },
  },
};

/** The same by the user's own configuration. */
const services = `[[services]]
name = "db"
image = "${serviceImage}"
command = ["postgres"]
env = ["POSTGRES_PASSWORD=${password}"]
health = ${JSON.stringify(health)}
`;

const forms = {
  devcontainer: 'with a devcontainer.json',
  configured: 'without a devcontainer.json',
} as const;
type Form = keyof typeof forms;
const nightly = Object.keys(languages).flatMap((each) =>
  (Object.keys(forms) as Form[]).map((form): [string, Form] => [each, form]),
);
const [first, ...others] = nightly as [[string, Form], ...[string, Form][]];
const cases = tried(hasDevcontainers ? [first] : [], others).filter(
  ([, form]) => hasDevcontainers || form !== 'devcontainer',
);

/** Agents whose images have what the user's configuration adds: that of Claude itself is other tests', too. */
const owned: string[] = [];

beforeAll(async () => {
  await provideImages('claude');
  buildServiceImage();
}, buildTimeoutMs);
afterAll(async () => {
  await removeImages();
  for (const own of owned) await docker('rmi', '--force', `containai:${own}`).catch(() => undefined);
});

/** A user with such a project, all of which is committed, and the agent that works in it. */
async function projectOf({ packages, files }: Language, form: Form) {
  const list = ['postgresql-client', ...packages.split(' ').filter(Boolean)];
  const { packages: ofClaude } = catalog.claude!;
  const own = `claude-${randomUUID().slice(0, 8)}`;
  if (form === 'configured') owned.push(own);
  const ofUser = `[agents.${own}]\ncommand = ["claude-agent-acp"]\npackages = ${JSON.stringify(ofClaude)}\n[image]\napt = ${JSON.stringify(list)}\n${services}`;
  const config = `${modelConfig}[worktrees]\nper_session = true\n`;
  const agent = form === 'devcontainer' ? 'claude' : own;
  const cai = new Cai(form === 'devcontainer' ? config : config + ofUser);
  nameAuthor(cai);
  const repository = newWorkspace();
  git(cai, '-C', repository, 'init', '--quiet');
  if (form === 'devcontainer') {
    const dockerfile = `FROM ${base}\nRUN apt-get update -qq && apt-get install -qq -y --no-install-recommends ${list.join(' ')}\n`;
    const settings = { dockerComposeFile: '../compose.yml', service: 'app', build: undefined };
    newProject(
      settings,
      { ...files, 'compose.yml': compose, '.devcontainer/Dockerfile': dockerfile },
      repository,
    );
    await trust(cai, repository);
  } else for (const [name, text] of Object.entries(files)) ownFile(`${repository}/${name}`, text as string);
  git(cai, '-C', repository, 'add', '.');
  git(cai, '-C', repository, 'commit', '--quiet', '--message', 'first');
  // The worktrees have its image.
  await cai
    .start(['exec', '--workspace', repository, '--agent', agent, '--', 'true'])
    .succeeds(buildTimeoutMs);
  return { cai, repository, agent };
}

test.each(cases.map(([name, form]) => [name, forms[form], form] as const))(
  'a project in %s %s and with Postgres is tested by two agents at once, each in its worktree',
  async (name, _, form) => {
    const language = languages[name]!;
    const { cai, repository, agent } = await projectOf(language, form);
    const editor = await Editor.open(cai, agent, { cwd: repository, env: modelEnv });
    const sessions = await Promise.all([editor.newSession(repository), editor.newSession(repository)]);
    const list = git(cai, '-C', repository, 'worktree', 'list', '--porcelain');
    const worktrees = [...list.matchAll(/^worktree (.*)$/gm)].map(([, path]) => path!).slice(1);
    for (const each of worktrees) await startModel(cai, each, agent);

    await Promise.all(sessions.map((each) => editor.prompt(each, `[[shell ${language.command}]]`)));

    expect(worktrees).toHaveLength(2);
    for (const each of sessions) expect(editor.said(each)).toMatch(language.passes);
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
  },
  3 * buildTimeoutMs,
);
