import { composeProject } from '../../../src/workspace/devcontainer/compose/project';
import { imageSourceOf } from '../../../src/workspace/devcontainer/image-source';
import type { JsonObject } from '../../../src/workspace/devcontainer/json';

const file = '/w/.devcontainer/devcontainer.json';
const of = (settings: JsonObject, files: Readonly<Record<string, string>> = {}) =>
  imageSourceOf(
    settings,
    file,
    composeProject(settings, file, (path) => files[path]),
  );

describe('imageSourceOf', () => {
  test('takes an image', () => expect(of({ image: 'debian:12' })).toEqual({ image: 'debian:12' }));

  test('takes a Dockerfile, with paths from the folder of the file', () => {
    const build = { dockerfile: '../Dockerfile', context: '..', args: { A: 1, B: '2' }, target: 'dev' };

    expect(of({ build })).toEqual({
      dockerfile: '/w/Dockerfile',
      context: '/w',
      args: { A: '1', B: '2' },
      target: 'dev',
    });
    expect(of({ dockerFile: 'Dockerfile', context: '..' })).toMatchObject({
      dockerfile: '/w/.devcontainer/Dockerfile',
      context: '/w',
    });
  });

  test('takes the service of a Compose project', () => {
    const files = {
      '/w/compose.yml':
        'services:\n  app: { build: { context: app, args: [ "A=1", B=$$2 ] } }\n  db: { image: "postgres:16" }\n',
      '/w/.devcontainer/more.yml': 'services:\n  app: { build: { dockerfile: Dev } }\n',
    };
    const compose = { dockerComposeFile: ['../compose.yml', 'more.yml'] };

    expect(of({ ...compose, service: 'db' }, files)).toEqual({ image: 'postgres:16' });
    expect(of({ ...compose, service: 'app' }, files)).toEqual({
      dockerfile: '/w/app/Dev',
      context: '/w/app',
      args: { A: '1', B: '$2' },
      target: undefined,
    });
  });

  test.each<[JsonObject, string]>([
    [{}, 'names no image and no Dockerfile'],
    [{ image: '--privileged' }, 'names no image'],
    [{ build: {} }, 'lacks "dockerfile"'],
    [{ dockerComposeFile: 'compose.yml' }, 'needs "service"'],
    [{ dockerComposeFile: 'compose.yml', service: 'x' }, 'is not there'],
  ])('refuses %j', (settings, why) => expect(() => of(settings)).toThrow(why));
});
