import { createHash } from 'node:crypto';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import {
  AgentFolders,
  forgetAgentFolder,
  rememberAgentFolders,
} from '../../../src/system/paths/agent-folders';
import { newFolder } from '../../support/temp-folder';

let place: string;
let theirs: string;
let ours: string;
let stateOfUser: string;

beforeEach(() => {
  place = newFolder();
  stateOfUser = new Host({ HOME: place }).folders.state;
  theirs = join(place, 'theirs');
  ours = join(place, 'ours');
  for (const folder of [theirs, ours]) {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    writeFileSync(join(folder, 'bin/tool'), '');
  }
});

const link = (target: string, name: string): string => {
  symlinkSync(target, join(place, name));
  return join(place, name);
};

const remember = (path: string): void => rememberAgentFolders(stateOfUser, [path]);

const ways: [string, () => string][] = [
  ['a file there', () => join(theirs, 'bin/tool')],
  ['a link to a file there', () => link(join(theirs, 'bin/tool'), 'ours/link')],
  ['a link there that leads out', () => link(join(ours, 'bin/tool'), 'theirs/link')],
  ['a folder there that is a link and leads out', () => join(link(join(ours, 'bin'), 'theirs/v'), 'tool')],
  ['links elsewhere that pass one there', () => link(link(join(ours, 'bin'), 'theirs/link'), 'ours/link')],
  ['a way in and out again', () => link('../theirs/bin/../../ours/bin/tool', 'ours/link')],
  ['another name of the folder', () => join(link(theirs, 'alias'), 'bin/tool')],
  ['what is not there yet', () => join(theirs, 'new/tool')],
];

describe('AgentFolders', () => {
  test.each(ways)('names a folder that is recorded for %s', (_, pathTo) => {
    remember(theirs);
    const folders = new AgentFolders(stateOfUser);
    const path = pathTo();

    expect([folders.onWayTo(path), folders.above(path)]).toEqual([theirs, theirs]);
  });

  test.each(ways)('names a folder that an agent is about to get for %s', (_, path) => {
    expect(new AgentFolders(stateOfUser, [join(place, 'missing'), theirs]).onWayTo(path())).toBe(theirs);
  });

  test('tells apart what lies in a folder and the folder itself, also by a link', () => {
    remember(theirs);
    const folders = new AgentFolders(stateOfUser);

    for (const path of [theirs, link(theirs, 'alias')])
      expect([folders.onWayTo(path), folders.above(path)]).toEqual([theirs, undefined]);
  });

  test('names none for what has no part in them', () => {
    remember(theirs);
    mkdirSync(`${theirs}-too`);

    expect(new AgentFolders(stateOfUser).onWayTo(link(`${theirs}-too`, 'ours/link'))).toBeUndefined();
  });

  test('knows a file under another name, and a folder that was moved, which is still in its container', () => {
    remember(join(theirs, 'bin/tool'));
    linkSync(join(theirs, 'bin/tool'), join(place, 'same'));
    remember(ours);
    renameSync(ours, `${ours}-moved`);
    const folders = new AgentFolders(stateOfUser);

    expect(folders.onWayTo(join(place, 'same'))).toBe(join(theirs, 'bin/tool'));
    expect(folders.onWayTo(join(`${ours}-moved`, 'bin'))).toBe(ours);
  });

  test('does not take what was made later for a folder that is gone, though it may have its number', () => {
    remember(theirs);
    rmSync(theirs, { recursive: true });
    for (let count = 0; count < 20; count++) {
      mkdirSync(join(place, `later-${count}`));

      expect(new AgentFolders(stateOfUser).onWayTo(join(place, `later-${count}`))).toBeUndefined();
    }
  });

  test('throws where the way has no end', () => {
    link('loop', 'loop');

    expect(() => new AgentFolders(stateOfUser).onWayTo(join(place, 'loop'))).toThrow('too many links');
  });

  test('looks at no more where thousands are known, most of them gone', () => {
    const state = join(place, '.local/state/containai/agent-folders');
    const many = Array.from({ length: 2_000 }, (_, index) => `/gone/${index}`);
    remember(theirs);
    const timed = () => {
      const times = Array.from({ length: 30 }, () => {
        const begin = process.hrtime.bigint();
        new AgentFolders(stateOfUser).onWayTo(join(ours, 'bin/tool'));
        return Number(process.hrtime.bigint() - begin);
      });
      return Math.min(...times);
    };
    const withFew = timed();
    rememberAgentFolders(stateOfUser, many);

    expect(readdirSync(state)).toHaveLength(2_002);
    // A look at each of them takes hundreds of times as long.
    expect(timed()).toBeLessThan(20 * withFew);
  });
});

describe('forgetAgentFolder', () => {
  test('takes back one folder, also one that was moved', () => {
    remember(theirs);
    remember(ours);
    renameSync(theirs, `${theirs}-moved`);

    expect([forgetAgentFolder(stateOfUser, theirs), forgetAgentFolder(stateOfUser, theirs)]).toEqual([
      true,
      false,
    ]);
    const folders = new AgentFolders(stateOfUser);
    expect([theirs, `${theirs}-moved`].map((folder) => folders.onWayTo(folder))).toEqual([
      undefined,
      undefined,
    ]);
    expect(folders.onWayTo(join(ours, 'bin'))).toBe(ours);
  });
});

describe('rememberAgentFolders', () => {
  test('writes nothing twice, and nothing that others can read', () => {
    const state = join(place, '.local/state/containai/agent-folders');
    remember(theirs);
    const inodes = () => readdirSync(state).map((name) => lstatSync(join(state, name)).ino);
    const before = inodes();
    remember(theirs);

    expect(inodes()).toEqual(before);
    expect(lstatSync(state).mode & 0o777).toBe(0o700);
    expect(readdirSync(state)).toContain(createHash('sha256').update(theirs).digest('hex'));
  });

  test('fails where nothing can be recorded, with what to do', () => {
    writeFileSync(join(place, '.local'), '');

    expect(() => remember(theirs)).toThrow(/cannot be recorded: .*: make .*containai a folder/);
    expect(new AgentFolders(stateOfUser).onWayTo(theirs)).toBeUndefined();
  });
});
