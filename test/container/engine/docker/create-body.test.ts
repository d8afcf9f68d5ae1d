import { engineProfile } from '../../../../src/container/engine/container-info';
import { createBody } from '../../../../src/container/engine/docker/create-body';
import { seccompProfile } from '../../../../src/container/engine/seccomp';
import { planOf } from '../../../../src/container/spec/plan';
import { circumstances, settings } from '../../given';

const plan = planOf(settings({ cpus: 1.5 }), circumstances, 'SHA256:key');

describe('createBody', () => {
  it('takes all rights away, and gives those of the plan', () => {
    const body = createBody(plan);
    expect(body).toMatchObject({ StopSignal: 'SIGTERM', Entrypoint: [''] });
    expect(body.HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: ['no-new-privileges', `seccomp=${seccompProfile()}`],
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Init: false,
      PidsLimit: 1024,
      Memory: plan.rights.memoryBytes,
      MemorySwap: plan.rights.memoryBytes,
      NanoCpus: 1.5e9,
      ShmSize: 2 ** 30,
      NetworkMode: 'none',
    });
    for (const none of ['Privileged', 'PortBindings']) expect(body.HostConfig).not.toHaveProperty(none);
    for (const none of ['ExposedPorts', 'Hostname']) expect(body).not.toHaveProperty(none);
  });

  it('leaves the engine its own profile of system calls where the plan has that', () => {
    const rights = { ...plan.rights, seccomp: engineProfile };

    expect(createBody({ ...plan, rights }).HostConfig.SecurityOpt).toEqual(['no-new-privileges']);
  });

  it('gives a network, and names that only the container knows, where the plan has one', () => {
    const rights = { ...plan.rights, hasNetwork: true };
    const { HostConfig } = createBody({ ...plan, rights, extraHosts: ['a:10.0.0.8'] });

    expect(HostConfig).toMatchObject({ ExtraHosts: ['a:10.0.0.8'] });
    expect(HostConfig).not.toHaveProperty('NetworkMode');
  });

  it('labels the volumes that the engine makes, and copies nothing of the image into them', () => {
    const [volume, bind] = createBody(plan).HostConfig.Mounts;

    expect(volume).toMatchObject({
      Type: 'volume',
      Target: '/home/agent/.data',
      VolumeOptions: { NoCopy: true, Labels: { 'containai.agent': 'claude' } },
    });
    expect(bind).toEqual({ Type: 'bind', Source: '/home/u/app', Target: '/home/u/app', ReadOnly: false });
  });
});
