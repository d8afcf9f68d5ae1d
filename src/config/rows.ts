/** Rows of the table of keys, and the types that follow from them. */
import type { Kind } from './config-kinds';
import type { Key } from './config-reader';
import type { RepositoryRule } from './repository-rules';

/** A row of the table; `IsThere`: whether its field always has a value. */
export interface Row<F extends string, T, IsThere extends boolean> extends Pick<
  Key,
  'standard' | 'isRequired'
> {
  /** Name of the field of `Config` that it sets. */
  readonly field: F;
  readonly kind: Kind<T>;
  readonly repository: RepositoryRule<T>;
  /** For the type alone. */
  readonly isThere?: IsThere;
}

/** The object that a table becomes: fields by their names, optional where there may be no value. */
export type Fields<Rows> = {
  readonly [K in keyof Rows as FieldOf<Rows[K], true>]: ValueOf<Rows[K]>;
} & {
  readonly [K in keyof Rows as FieldOf<Rows[K], false>]?: ValueOf<Rows[K]>;
};
type FieldOf<R, IsThere extends boolean> = R extends {
  readonly field: infer F extends string;
  readonly isThere?: IsThere;
}
  ? F
  : never;
type ValueOf<R> = R extends { readonly kind: Kind<infer T> } ? T : never;

/** A key that tables need not have; `standard` holds without it. */
export function key<F extends string, T, S extends Key['standard'] = undefined>(
  field: F,
  kind: Kind<T>,
  repository: RepositoryRule<NoInfer<T>>,
  standard?: S,
): Row<F, T, S extends undefined ? false : true> {
  return { field, kind, repository, standard, isRequired: () => false };
}

/** Every table that can have the key must have it. */
export function required<F extends string, T>(row: Row<F, T, false>): Row<F, T, true> {
  return { ...row, isRequired: () => true, isThere: true };
}
