/** The steps of our own Dockerfile, as people read them. */
import type { BuildEvent } from '../engine/engine';

/** What the longer steps of our Dockerfile do. */
const stepNames: readonly (readonly [instruction: RegExp, name: string])[] = [
  [/^FROM .* AS build$/, 'taking the base image'],
  [/^COPY --from=build /, 'putting the image together'],
  [/^COPY /, 'copying the settings of the network'],
  [/^RUN .*apt-get .*install/, 'installing Debian packages'],
  [/^RUN /, 'setting up the agents'],
];

/** A step of our own Dockerfile as people read it, in a build with these npm packages. */
export function withStepName(event: BuildEvent, packages: readonly string[]): BuildEvent {
  if (event.kind !== 'step') return event;
  const list = packages.join(' ') || 'no npm packages';
  const name = event.text.startsWith('ARG PACKAGES=')
    ? `choosing ${list}`
    : /^RUN .*npm install/.test(event.text)
      ? `installing ${list}`
      : stepNames.find(([instruction]) => instruction.test(event.text))?.[1];
  return { ...event, text: name ?? event.text };
}
