import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/config';
import { createBody } from '../../../src/container/engine/docker/create-body';
import type { ImageInfo } from '../../../src/container/engine/engine-info';
import { planOf } from '../../../src/container/spec/plan';
import { servicePlan, wantedServices, type Service } from '../../../src/container/spec/service';
import { configHash } from '../../../src/container/spec/labels';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';
import { circumstances, settings } from '../given';

const service: Service = {
  name: 'db',
  image: 'postgres',
  env: ['A=b=c', 'E='],
  after: [],
  ends: false,
  memoryBytes: 2 ** 28,
};
const image: ImageInfo = {
  id: 'sha256:i',
  tags: [],
  labels: {},
  env: [],
  entrypoint: ['/entry'],
  command: ['serve'],
  stopSignal: 'SIGINT',
};
const owner = { id: 'f00', name: 'cai-app-1' };

describe('servicePlan', () => {
  const bodyOf = (changes: Partial<Service> = {}, of = image) =>
    createBody(
      servicePlan(
        { service: { ...service, ...changes }, owner, settings: settings() },
        of,
        circumstances.engine,
      ),
    );

  it('shares the network of the container of the agent, with limits and few capabilities', () => {
    expect(bodyOf().HostConfig).toMatchObject({
      NetworkMode: 'container:f00',
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'],
      SecurityOpt: ['no-new-privileges', expect.stringMatching(/^seccomp=/)],
      Memory: 2 ** 28,
      PidsLimit: 1024,
      Mounts: [],
    });
    expect(bodyOf().HostConfig).not.toHaveProperty('ExtraHosts');
  });

  it('runs as the image says, below our shell, which gets the signal that ends it', () => {
    const body = bodyOf();

    expect(body).toMatchObject({ User: '', WorkingDir: '', Entrypoint: [''], Env: ['A=b=c', 'E='] });
    expect(body.Cmd).toEqual(['/bin/sh', '-c', expect.any(String), 'cai', 'SIGINT', '/entry', 'serve']);
    expect(bodyOf({ command: ['other', 'x'] }).Cmd.slice(-3)).toEqual(['/entry', 'other', 'x']);
  });

  it('knows the others by their names also where the engine gives it a file of names of its own', () => {
    const services = [service, { ...service, name: 'cache' }];
    const plan = servicePlan(
      { service, owner, settings: settings({ services }) },
      image,
      circumstances.engine,
    );

    expect(plan.command[2]).toContain("echo '127.0.0.1 db cache' >>/etc/hosts");
  });

  it('has a volume that begins with what the image has there', () => {
    expect(bodyOf({ volume: '/data' }).HostConfig.Mounts).toEqual([
      {
        Type: 'volume',
        Source: 'cai-app-1-db-data',
        Target: '/data',
        ReadOnly: false,
        VolumeOptions: { NoCopy: false, Labels: {}, DriverConfig: {} },
      },
    ]);
  });

  it('is no container of an agent', () => {
    expect(bodyOf().Labels).toEqual({
      'containai.agent': 'claude',
      'containai.user': '1000',
      'containai.workspace': '/home/u/app',
      'containai.service': 'db',
      'containai.service-of': 'f00',
    });
  });

  it('refuses an image that starts nothing', () => {
    const empty = { id: 'sha256:i', tags: [], labels: {}, env: [] };

    expect(() => bodyOf({}, empty)).toThrow('the image postgres of the service "db" starts nothing');
    expect(bodyOf({ command: ['serve'] }, empty).Cmd.slice(-2)).toEqual(['SIGTERM', 'serve']);
  });
});

test('the container of the agent knows the names of its services, and nothing of them otherwise', () => {
  const plan = planOf(settings({ services: [service] }), circumstances, 'SHA256:key');

  expect(createBody(plan).HostConfig).toMatchObject({ NetworkMode: 'none', ExtraHosts: ['db:127.0.0.1'] });
  expect(plan.labels['containai.services']).toBe('db');
  const without = planOf(settings(), circumstances, 'SHA256:key');
  expect(createBody(without).HostConfig).not.toHaveProperty('ExtraHosts');
  expect(without.labels).not.toHaveProperty('containai.services');
});

test('a container whose services are others is another one', () => {
  const hashes = [[service], [{ ...service, env: [] }], undefined].map((services) =>
    configHash(settings({ services })),
  );

  expect(new Set(hashes).size).toBe(3);
});

describe('wantedServices', () => {
  const one = '[[services]]\nname = "db"\nimage = "postgres"\n';

  function wanted(text: string) {
    const folder = newFolder();
    mkdirSync(join(folder, 'containai'));
    writeFileSync(join(folder, 'containai/config.toml'), text);
    const host = new Host({ XDG_CONFIG_HOME: folder, HOME: folder });
    return wantedServices(loadConfig(host), host, undefined);
  }

  it('gives those of the configuration', () => {
    expect(wanted('')).toBeUndefined();
    expect(wanted(one)).toMatchObject([{ name: 'db' }]);
  });

  it.each([
    ['engine.kind = "kubernetes"\n', /config\.toml:3: "services\[0\]\.name" asks for a service, which cai cannot run in a cluster yet/], // prettier-ignore
    ['network.egress = "open"\n', /config\.toml:1: "network\.egress" is "open", with which other containers would reach the services/], // prettier-ignore
  ])('refuses them with %s', (line, why) => {
    expect(() => wanted(line + one)).toThrow(why);
  });
});
