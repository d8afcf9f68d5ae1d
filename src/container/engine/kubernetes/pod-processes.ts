/** The processes of a pod, as a program in it tells them. */
import type { ContainerProcess } from '../container-processes';
import type { KubernetesApi } from './api/api';
import { mainContainer } from './pod';

const program = String.raw`for my $stat (glob '/proc/[0-9]*/stat') { open my $f, '<', $stat or next; my ($pid, $parent) = (readline($f) // '') =~ /^(\d+) \(.*\) \S (\d+)/s or next; open my $c, '<', "/proc/$pid/cmdline" or next; my $line = do { local $/; <$c> } // ''; $line =~ s/\0$//; $line =~ tr/\0\n/  /; print "$pid $parent $line\n" }`;

/** All of them, but for the one that tells. */
export async function processesIn(api: KubernetesApi, pod: string): Promise<readonly ContainerProcess[]> {
  const said = await api.exec(pod, mainContainer, ['/usr/bin/perl', '-e', program]);
  return said.split('\n').flatMap((line) => {
    const [, pid, parent, command = ''] = /^(\d+) (\d+) (.*)$/.exec(line) ?? [];
    if (pid === undefined || command.startsWith('/usr/bin/perl -e ')) return [];
    return [{ pid: Number(pid), parent: Number(parent), command }];
  });
}
