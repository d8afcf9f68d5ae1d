/** What is in a pod that runs, as programs in it tell: for the little that is wanted there besides the way in. */
import type { ContainerProcess } from '../../container-processes';
import type { InnerEntry, InnerFiles } from '../../engine';
import type { InnerFile } from '../../engine-info';
import type { KubernetesApi } from '../api/api';
import { ProgramFailure } from '../api/api-error';
import { mainContainer } from './pod';

const perl = '/usr/bin/perl';
/** What an agent is beside: nobody can read it, so nobody can trace it. Source: ptrace(2), the image's Dockerfile. */
const untraced = '/usr/local/lib/cai/perl';
const listing = String.raw`for my $stat (glob '/proc/[0-9]*/stat') { open my $f, '<', $stat or next; my ($pid, $parent) = (do { local $/; <$f> } // '') =~ /^(\d+) \(.*\) \S (\d+)/s or next; next if $pid == $$; open my $c, '<', "/proc/$pid/cmdline" or next; read $c, my $line, 4096; $line //= ''; $line =~ s/\0$//; $line =~ tr/\0\n/  /; print "$pid $parent $line\n" }`;

/** All of them, but for the one that tells. */
export async function processesIn(api: KubernetesApi, pod: string): Promise<readonly ContainerProcess[]> {
  const list = (program: string) => api.exec(pod, mainContainer, [program, '-e', listing]);
  const said = await list(untraced).catch((reason: unknown) => {
    // No image of ours lacks it, and no agent can remove it.
    if (!(reason instanceof ProgramFailure) || !reason.isMissing) throw reason;
    return list(perl);
  });
  return said.split('\n').flatMap((line) => {
    const [, pid, parent, command = ''] = /^(\d+) (\d+) (.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

/** Larger ones are none of those that are looked for. */
const mostBytes = 1024 * 1024;
/** Prints mode, owner and content of an ordinary file, and nothing for anything else. */
const reading = String.raw`my ($path, $most) = @ARGV; my @s = lstat $path; exit unless -f _ && $s[7] <= $most; open my $f, '<:raw', $path or exit; local $/; print join(' ', $s[2] & 07777, $s[4], $s[5]), "\n", unpack('H*', <$f>)`;
/** So much of a file fits among the arguments of a program. */
const partBytes = 4 * 1024;

/** The files of a pod, as its user can read and write them. */
export function filesOf(api: KubernetesApi, pod: string): InnerFiles {
  const run = async (...argv: string[]) => await api.exec(pod, mainContainer, argv);
  return {
    read: async (path): Promise<InnerFile | undefined> => {
      const said = await run(perl, '-e', reading, path, String(mostBytes));
      const [, mode, uid, gid, hex = ''] = /^(\d+) (\d+) (\d+)\n([\da-f]*)$/.exec(said) ?? [];
      if (mode === undefined) return undefined;
      const content = Buffer.from(hex, 'hex');
      return { content, mode: Number(mode), uid: Number(uid), gid: Number(gid) };
    },
    put: async (entries) => {
      for (const entry of entries) await putOne(run, entry);
    },
  };
}

async function putOne(
  run: (...argv: string[]) => Promise<string>,
  { path, is, mode }: InnerEntry,
): Promise<void> {
  if (is !== 'folder' && 'link' in is) {
    await run('/bin/ln', '-sfn', is.link, path);
    return;
  }
  if (is === 'folder') {
    await run('/bin/mkdir', '-p', path);
  } else {
    const content = Buffer.from(is.file);
    await run(perl, '-e', writing('>'), path, '');
    for (let at = 0; at < content.length; at += partBytes)
      await run(perl, '-e', writing('>>'), path, content.subarray(at, at + partBytes).toString('hex'));
  }
  await run('/bin/chmod', mode.toString(8), path);
}

function writing(mode: '>' | '>>'): string {
  return `open my $f, '${mode}:raw', $ARGV[0] or die qq($ARGV[0]: $!\\n); print $f pack('H*', $ARGV[1])`;
}
