/** What takes room on the disk of Docker or podman. */
import type Docker from 'dockerode';
import type { DiskUse } from '../engine-info';
import { labelsIn } from './answers';

/** Source: Docker Engine API, SystemDataUsage; null stands for an empty list, and -1 for what is not known. */
interface DataUsage {
  readonly Images?:
    | readonly Readonly<{ Id: string; Size: number; SharedSize: number; Containers: number }>[]
    | null;
  readonly Containers?: readonly Readonly<{ Id: string; SizeRw?: number }>[] | null;
  readonly Volumes?: readonly Readonly<{ Name: string; UsageData?: { Size: number } | null }>[] | null;
}

/** Rejects as dockerode does. */
export async function diskUseOf(docker: Docker): Promise<DiskUse> {
  const [usage, listed] = await Promise.all([docker.df() as Promise<DataUsage>, docker.listImages()]);
  // podman writes one of them without its algorithm.
  const keyOf = (id: string) => id.replace(/^sha256:/, '');
  const used = new Map((usage.Images ?? []).map((image) => [keyOf(image.Id), image]));
  return {
    // podman's usage tells neither labels nor all names.
    images: listed.map(({ Id: id, RepoTags, Labels, Size, Created }) => {
      const { SharedSize = 0, Containers = 0 } = used.get(keyOf(id)) ?? {};
      // A nameless image has this in the place of a name, or nothing.
      const tags = ((RepoTags as string[] | null) ?? []).filter((tag) => tag !== '<none>:<none>');
      return {
        ...{ id, tags, labels: labelsIn(Labels), bytes: Size },
        sharedBytes: Math.max(SharedSize, 0),
        createdAt: Created * 1_000,
        isUsed: Containers > 0,
      };
    }),
    containers: new Map((usage.Containers ?? []).map(({ Id, SizeRw = 0 }) => [Id, SizeRw])),
    volumes: new Map(
      (usage.Volumes ?? []).flatMap(({ Name, UsageData }) =>
        UsageData === undefined || UsageData === null || UsageData.Size < 0 ? [] : [[Name, UsageData.Size]],
      ),
    ),
  };
}
