import { composeService } from '../../../src/workspace/devcontainer/compose';

const service = (text: string, name = 'app') => composeService(['/c.yml'], name, () => text, 'f').service;

describe('composeService', () => {
  test('lets no variable of this machine in', () => {
    process.env.CAI_COMPOSE = 'secret';
    const image = 'a:${CAI_COMPOSE}-${CAI_COMPOSE:-x}-${OTHER-y}-$${KEPT}';

    expect(service(`services: { app: { image: '${image}' } }`)).toEqual({ image: 'a:-x-y-${KEPT}' });
  });

  test('follows anchors', () => {
    expect(service('x-base: &base { image: a }\nservices: { app: { <<: *base } }')).toEqual({ image: 'a' });
  });

  test.each([
    ['services: { db: { image: a } }', 'which no Compose file has'],
    ['- a', 'holds no services'],
    ['services: [', '/c.yml: '],
  ])('refuses %j', (text, why) => expect(() => service(text)).toThrow(why));
});
