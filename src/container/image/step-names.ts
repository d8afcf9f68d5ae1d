/** The steps of our Dockerfiles, as people read them. */
import type { BuildEvent } from '../engine/engine';

/** What the longer steps of our Dockerfiles do. */
const stepNames: readonly (readonly [instruction: RegExp, name: string])[] = [
  [/^FROM \S+ AS build$/, 'taking the image below'],
  [/^FROM \$/, 'taking the image below'],
  [/^COPY --from=build /, 'putting the image together'],
  [/^COPY /, 'copying the settings of the network'],
  [/^RUN .*apt-get .*install/, 'installing Debian packages'],
  [/^RUN .*pip install/, 'installing Python packages'],
  [/^RUN .*registry-agent/, 'setting up an agent of the registry, if it is one'],
  [/^RUN /, 'setting up'],
];

/** A step of one of our Dockerfiles as people read it, in a build with these npm packages. */
export function withStepName(event: BuildEvent, packages: readonly string[]): BuildEvent {
  if (event.kind !== 'step') return event;
  const list = packages.join(' ') || 'no npm packages';
  const name = /^RUN .*npm install/.test(event.text)
    ? `installing ${list}`
    : stepNames.find(([instruction]) => instruction.test(event.text))?.[1];
  return { ...event, text: name ?? event.text };
}
