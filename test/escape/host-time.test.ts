/** Attacks on the time of the host: what it looks at in a workspace, an agent or a stranger makes long. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Place } from '../engine/place';
import { newWorkspace, ownFile, user } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { sceneFor } from './hostile-agent';
import { unlessFails } from '../../src/system/unless';

const scene = sceneFor({ clientCapabilities: {} });

/** Python that makes submodules, each with what `inEach` does in its folder `s/N`. */
const submodules = (count: number, inEach: string): string => `python3 - <<'END'
import os, subprocess
names = ['s/%d' % n for n in range(${count})]
for name in names:
    for each in ('objects', 'refs'): os.makedirs(name + '/.git/' + each)
    open(name + '/.git/HEAD', 'w').write('ref: refs/heads/main\\n')
${inEach.replace(/^/gm, '    ')}
info = ''.join('160000 %s 0\\t%s\\n' % ('1' * 40, name) for name in names)
subprocess.run(['git', 'update-index', '--index-info'], input=info.encode(), check=True)
END`;

/** How many git the user runs now. */
function gitsNow(): number {
  const isGit = (pid: string): boolean =>
    unlessFails(() => readFileSync(`/proc/${pid}/comm`, 'utf8')) === 'git\n' &&
    unlessFails(() => readFileSync(`/proc/${pid}/status`, 'utf8'))?.includes(`\nUid:\t${user.uid}\t`) ===
      true;
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isGit(name)).length;
}

attempt(
  'an agent has hundreds of git run on the host at once, by configuration of submodules',
  async () => {
    const place = new Place(scene.cai, newWorkspace());
    // Each includes others which include others: git takes all the time that it gets.
    const nested = Array.from({ length: 8 }, (_, level) => `for k in $(seq 12); do printf '[include]\\npath = inc${level + 1}\\n'; done > inc${level}`); // prettier-ignore
    const configure = `for each in ('config', 'config.worktree'):
    open(name + '/.git/' + each, 'w').write('[include]\\npath = %s/inc0\\n' % os.getcwd())`;
    await place.prints(['sh', '-c', [...nested, ': > inc8', submodules(200, configure)].join('\n')]);
    const looking = place.start(['true']);
    let most = 0;
    while (looking.child.exitCode === null) {
      most = Math.max(most, gitsNow());
      await pause(20);
    }
    const { status, stderr } = await looking.ends();
    if (status !== 0) throw new Error(stderr);
    const { stdout } = await scene.cai.run(['review', '-w', place.workspace]);
    const isTold = stdout.includes('(too much to look at, or not readable)');
    return reachedIf(most > 8 || !isTold, `${most} at once; told: ${isTold}`);
  },
  120_000,
);

attempt('an agent has the host read gigabytes at the end of each turn, by indexes of git', async () => {
  const read = (): number => {
    const { pid } = scene.editor.proxy;
    return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
  };
  const before = await scene.toldOf(
    `sleep 0.1; head -c 16777000 /dev/zero > big\n${submodules(250, "os.link('big', name + '/.git/index')")}`,
  );
  const start = read();
  // One that ends right after another has its look in the next.
  await scene.sh('sleep 0.1');
  const bytes = read() - start;
  const isTold = before.includes('`s/');
  return reachedIf(bytes > 256 * 2 ** 20 || !isTold, `${bytes} bytes in a turn; told: ${before}`);
});

attempt('an agent has the host read for ever at the end of a turn, by a table of references', async () => {
  const told = await scene.toldOf(`sleep 0.1; mkdir .git/reftable && python3 - <<'END'
table = bytearray(200)
table[0:5] = b'REFT\\x01'
table[24:28] = b'r\\x00\\x00\\x64'
table[100:104] = b'r\\x00\\x00\\x00'
open('.git/reftable/tables.list', 'w').write('a.ref\\n')
open('.git/reftable/a.ref', 'wb').write(table)
END`);
  return reachedIf(!told.includes('tables.list'), `told: ${told}`);
});

attempt('a repository has the host look for any number of patterns', async () => {
  const workspace = newWorkspace();
  const paths = Array.from({ length: 100 }, (_, n) => `d/*a*a*${n}`);
  ownFile(join(workspace, '.containai/config.toml'), `[protect]\npaths = ${JSON.stringify(paths)}\n`);
  const { stdout, stderr } = await scene.cai.run(['config'], { cwd: workspace });
  if (!stdout.includes('protect.paths')) throw new Error(stderr);
  const found = paths.filter((each) => stdout.includes(JSON.stringify(each)));
  return reachedIf(found.length > 64, `${found.length} are in effect`);
});
