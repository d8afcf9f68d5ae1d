/** What stands in kubeconfig files. Source: Kubernetes, "kubeconfig (v1)" and "Organizing Cluster Access". */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { CaiError, errorCodeOf, messageOf } from '../../../../errors';
import { isObject, reading } from '../../../../system/unless';

/** Some settings of a file, which may be anything: an entry of one of its lists, or a part of one. */
export class Entry {
  /** `title` names it in messages, as in `the user "me" in /home/me/.kube/config`. Paths in it count from `folder`. */
  constructor(
    private readonly fields: unknown,
    readonly title: string,
    private readonly folder: string,
  ) {}

  /** An empty one counts as no file. Throws `NO_ENGINE` if it is no text. */
  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw this.refusal(`its "${key}" is no text: mend it`);
  }

  needed(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw this.refusal(`it has no "${key}": add it, or choose another context`);
    return value;
  }

  path(key: string): string | undefined {
    const value = this.text(key);
    return value === undefined ? undefined : resolve(this.folder, value);
  }

  /** Gives a text that stands there in base64, as `KEY-data`, or is in a file that `KEY` names, which is read each time. */
  data(key: string): (() => Buffer) | undefined {
    const inline = this.text(`${key}-data`);
    if (inline !== undefined) return () => Buffer.from(inline, 'base64');
    const file = this.path(key);
    return file === undefined ? undefined : () => readNamed(file, this.title);
  }

  value(key: string): unknown {
    return isObject(this.fields) ? this.fields[key] : undefined;
  }

  /** `undefined`: there is no such part. */
  inner(key: string): Entry | undefined {
    const value = this.value(key);
    return isObject(value) ? new Entry(value, this.title, this.folder) : undefined;
  }

  /** The entries of a list; none if there is no list. */
  list(key: string): readonly Entry[] {
    const value = this.value(key);
    return Array.isArray(value) ? value.map((each) => new Entry(each, this.title, this.folder)) : [];
  }

  /** An error about this entry; `why` says what to do as well. */
  refusal(why: string): CaiError {
    return noCluster(`${this.title} cannot be used: ${why}`);
  }
}

/** Several files as one. Of things with the same name, that in the first file counts. */
export class Kubeconfig {
  private constructor(private readonly files: readonly { readonly file: string; readonly all: Entry }[]) {}

  /** Files that do not exist are left out. Throws `NO_ENGINE` for one that cannot be read. */
  static read(files: readonly string[]): Kubeconfig {
    const read = files.map((file) => ({ file, fields: fieldsOf(file) }));
    return new Kubeconfig(
      read
        .filter(({ fields }) => isObject(fields))
        .map(({ file, fields }) => ({ file, all: new Entry(fields, file, dirname(file)) })),
    );
  }

  get currentContext(): string | undefined {
    for (const { all } of this.files) {
      const name = all.text('current-context');
      if (name !== undefined) return name;
    }
    return undefined;
  }

  get contexts(): readonly string[] {
    const names = this.files.flatMap(({ all }) =>
      all.list('contexts').flatMap((each) => each.text('name') ?? []),
    );
    return [...new Set(names)].sort();
  }

  /** `undefined`: there is none of that name. */
  find(kind: 'context' | 'cluster' | 'user', name: string): Entry | undefined {
    for (const { file, all } of this.files) {
      const found = all.list(`${kind}s`).find((each) => each.text('name') === name);
      if (found !== undefined)
        return new Entry(found.value(kind), `the ${kind} "${name}" in ${file}`, dirname(file));
    }
    return undefined;
  }
}

export function noCluster(message: string): CaiError {
  return new CaiError('NO_ENGINE', message);
}

/** A file that the configuration of `title` names. Throws `NO_ENGINE`. */
export function readNamed(file: string, title: string): Buffer {
  return reading(`${file}, which ${title} names,`, () => readFileSync(file), 'NO_ENGINE');
}

/** `undefined` for a file that does not exist. What YAML's own messages quote may be a secret: only the line is told. */
function fieldsOf(file: string): unknown {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return undefined;
    throw noCluster(`${file} cannot be read, so the cluster is unknown: ${messageOf(reason)}`);
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent', lineCounter });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw noCluster(`${file} is no YAML (line ${line}: ${error.code}), so the cluster is unknown: mend it`);
  }
  return document.toJS();
}
