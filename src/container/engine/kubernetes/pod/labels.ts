/** Labels of containers and volumes may hold any text. Labels of Kubernetes may not, so an annotation has them all. */
import type { Labels } from '../../engine';
import { objectIn } from '../../../../system/unless';

/** The labels that Kubernetes has, too: it selects by them. */
const selectable = ['containai.managed', 'containai.user'] as const;
/** JSON of all labels. Others add annotations of their own. */
const annotation = 'containai.labels';

export function selectableOf(labels: Labels): Labels {
  return Object.fromEntries(
    selectable.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  );
}

export function annotationsOf(labels: Labels): Labels {
  return { [annotation]: JSON.stringify(labels) };
}

/** All labels of an object; none if it is not of ours. */
export function labelsIn({ annotations }: { readonly annotations?: Labels }): Labels {
  return (objectIn(annotations?.[annotation]) ?? {}) as Labels;
}

export function pairsOf(words: readonly string[]): Labels {
  return Object.fromEntries(words.map((word) => splitAt(word, '=')));
}

/** What stands before the first such sign, and what behind it: nothing where there is none. */
export function splitAt(text: string, sign: string): [before: string, after: string] {
  const [before = '', ...after] = text.split(sign);
  return [before, after.join(sign)];
}
