import { createHash } from 'node:crypto';
import { seccompOf, securityOf } from '../../../src/container/engine/security-options';

describe('securityOf', () => {
  test.each([
    [['no-new-privileges'], undefined, ['no-new-privileges']],
    [['no-new-privileges=true', 'seccomp={}'], null, ['no-new-privileges']],
    [['no-new-privileges:true', 'label=disable'], ['/proc/kcore'], ['label=disable', 'no-new-privileges']],
    [null, [], ['systempaths=unconfined']],
  ])('reads %j with the masked paths %j', (SecurityOpt, MaskedPaths, expected) => {
    expect(securityOf({ SecurityOpt, MaskedPaths: MaskedPaths ?? null })).toEqual(expected);
  });
});

describe('seccompOf', () => {
  const text = '{"defaultAction":"SCMP_ACT_ERRNO"}';
  const hash = `sha256:${createHash('sha256').update(text).digest('hex')}`;

  test.each([
    [null, 'default'],
    [['no-new-privileges'], 'default'],
    [['seccomp=unconfined'], 'unconfined'],
    [['seccomp:unconfined'], 'unconfined'],
    [['seccomp=/home/u/seccomp.json'], '/home/u/seccomp.json'],
    [[`seccomp=${text}`], hash],
    [[`seccomp=${text}`, 'seccomp=unconfined'], 'unconfined'],
  ])('reads %j', (SecurityOpt, expected) => {
    expect(seccompOf({ SecurityOpt })).toBe(expected);
  });
});
