import { engineError, isNotRunning } from '../../../../src/container/engine/docker/engine-error';
import { Silent } from '../../../../src/container/engine/silence';
import { addressOf } from '../../fake-engine';
import { expectedError } from '../../../expected-error';

test.each([
  // Observed: podman 4.3.1, and Docker 20.10.24 of a container that ends while a program is started in it.
  [500, 'can only create exec sessions on running containers: container state improper', true],
  [500, 'Container e7594039d41a is not running: Exited (1) Less than a second ago', true],
  [500, 'OCI runtime exec failed: exec failed: no such file', false],
  [400, 'Container x is not running: Exited (1)', false],
])('status %d, %s: the container does not run: %s', (statusCode, sentence, expected) => {
  const reason = Object.assign(new Error(sentence), { statusCode });

  expect(isNotRunning(reason)).toBe(expected);
});

describe('engineError', () => {
  const asked = { address: addressOf('/x.sock'), what: 'do it', code: 'CONTAINER_START' } as const;

  test.each([
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'NO_ENGINE',
      / do not trust each other \(why\): check ca\.pem, cert\.pem and key\.pem/,
    ],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'NO_ENGINE', / do not trust each other /],
    ['EPIPE', 'NO_ENGINE', / broke off while it was to do it: /],
    ['EWHATEVER', 'NO_ENGINE', / could not do it \(why\): see whether "docker version" works$/],
  ])('tells %s', (code, kind, message) => {
    const reason = Object.assign(new Error('why'), { code });

    const error = engineError(reason, asked);

    expect(error).toMatchObject({ code: kind, cause: reason });
    expect(error.message).toMatch(/^the engine at unix:\/\/\/x\.sock \(Docker context "default"\) /);
    expect(error.message).toMatch(message);
  });

  test.each([
    [404, 'No such container: x', 'CONTAINER_NOT_FOUND'],
    [404, 'No such image: x:latest', 'IMAGE'],
    // Observed: podman 4.3.1, of one that is just being removed.
    [500, 'container 30250e331a55 does not exist in database: no such container', 'CONTAINER_NOT_FOUND'],
    [500, 'driver failed\nlast line', 'CONTAINER_START'],
  ])('tells status %d, %s', (statusCode, sentence, code) => {
    const reason = Object.assign(new Error(`${sentence}\n`), { statusCode });

    expect(engineError(reason, asked)).toMatchObject({ code, message: `cannot do it: ${sentence}` });
  });

  test('names DOCKER_HOST where that names the engine', () => {
    const address = { ...asked.address, isFromHost: true };

    expect(engineError(new Error('x'), { ...asked, address }).message).toMatch(
      /^the engine at unix:\/\/\/x\.sock \(from DOCKER_HOST\) /,
    );
  });

  test.each([
    [false, 'does not answer (waited for 20 s): see'],
    [true, 'still answers, but has not done that'],
  ])('tells what was waited for in vain of an engine that is there: %s', (isThere, said) => {
    expect(engineError(new Silent(20, isThere), asked)).toMatchObject(
      expectedError('NOT_READY', /was to do it and .*"docker ps" works, else restart it/),
    );
    expect(engineError(new Silent(20, isThere), asked).message).toContain(said);
  });

  test('leaves alone what is told already', () => {
    const error = engineError(new Error('x'), asked);

    expect(engineError(error, asked)).toBe(error);
  });
});
