/** What somebody is shown of a development container before agreeing to it. */
import { posix } from 'node:path';
import { printableCharacters, quoted } from '../../system/quoted';
import type { Devcontainer } from './devcontainer';
import { featureTitle } from './ignored';
import { isObject, type Json } from './json';
import { hookNames } from './metadata';

/** More files than these are told as a number. */
const maxFiles = 10;

/** Lines for a terminal: what its image is made from, what runs inside, and the files that this is about. */
export function describeDevcontainer(content: Devcontainer): string[] {
  const { file, root, settings, source, ownFeatures, services, files } = content;
  const dockerfileIn = (path: string) => `the Dockerfile ${quoted(posix.relative(root, path))}`;
  const from = 'image' in source ? `the image ${source.image}` : dockerfileIn(source.dockerfile);
  const { features } = settings;
  const names = isObject(features) ? Object.keys(features).map((name) => quoted(name)) : [];
  const more = names.length === 0 ? '' : `, with the features ${names.join(', ')}`;
  const others = [...files.files.keys()].filter((name) => name !== posix.relative(root, file));
  const shown = others.slice(0, maxFiles).map((name) => quoted(name));
  if (others.length > maxFiles) shown.push(`${others.length - maxFiles} more`);
  return [
    `${printableCharacters(file)} describes the container that agents work in:`,
    `  built from ${from}${more}`,
    ...services.flatMap(({ name, build }) =>
      build === undefined
        ? []
        : [`  with the service ${quoted(name)}, built from ${dockerfileIn(build.dockerfile)}`],
    ),
    ...hookNames.flatMap((hook) =>
      [
        ...Array.from(ownFeatures, ([name, asked]) => [` of ${featureTitle(name)}`, asked[hook]] as const),
        ['', settings[hook]] as const,
      ].flatMap(([whose, command]) => (command === undefined ? [] : [`  ${hook}${whose}: ${said(command)}`])),
    ),
    ...(shown.length === 0 ? [] : [`  made from the files ${shown.join(', ')}`]),
  ];
}

function said(value: Json): string {
  return typeof value === 'string' ? printableCharacters(value) : quoted(value);
}
