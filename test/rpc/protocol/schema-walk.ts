/**
 * Reads the JSON schemas of ACP: which methods there are, and every place in their params and results, as
 * pointers in the grammar of `FieldTree`.
 */

/** The part of JSON Schema that the schemas of ACP use. */
export interface SchemaNode {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, SchemaNode>;
  additionalProperties?: boolean | SchemaNode;
  items?: SchemaNode;
  allOf?: SchemaNode[];
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  'x-method'?: string;
  'x-side'?: string;
}

/** A schema document: its named types. */
export interface Schema {
  $defs: Record<string, SchemaNode>;
}

/** One method of a schema, towards one side. */
export interface SchemaMethod {
  readonly method: string;
  /** Who handles it: `agent`, `client`, `protocol` (both) or `proxy`. */
  readonly side: string;
  /** Names of the types, where the schema has them. */
  readonly params: string[];
  readonly results: string[];
}

/** One place in a value. */
export interface Place {
  /** Segments joined by `/`: a member, `*` any element, `{}` any member, `?tag=value` only in that variant. */
  readonly pointer: string;
  /** What it may hold, objects and arrays aside; `any` is JSON that the schema does not describe. */
  readonly leaf: 'text' | 'number' | 'flag' | 'any' | undefined;
  /** Names of the schema's types that the place has. */
  readonly types: readonly string[];
}

const known = new Set(
  [
    ['$ref', 'type', 'description', 'const', 'enum', 'properties', 'additionalProperties', 'items'],
    ['allOf', 'anyOf', 'oneOf', 'not', 'unevaluatedProperties', 'required', 'discriminator', 'title'],
    ['default', 'format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ].flat(),
);

/** The methods of a schema. */
export function methodsOf(schema: Schema): SchemaMethod[] {
  const found = new Map<string, SchemaMethod>();
  for (const [name, type] of Object.entries(schema.$defs)) {
    const { 'x-method': method, 'x-side': side } = type;
    if (method === undefined || side === undefined) continue;
    const key = `${side} ${method}`;
    const entry = found.get(key) ?? { method, side, params: [], results: [] };
    (name.endsWith('Response') ? entry.results : entry.params).push(name);
    found.set(key, entry);
  }
  return [...found.values()];
}

/** Every place in a value of the named type, `_meta` excepted: it may stand in every object. */
export function placesOf(schema: Schema, type: string): Place[] {
  const walk = new Walk(schema);
  walk.visit({ $ref: `#/$defs/${type}` }, [], []);
  return [...walk.places.values()];
}

class Walk {
  readonly places = new Map<string, Place>();
  private readonly open: string[] = [];

  constructor(private readonly schema: Schema) {}

  visit(node: SchemaNode, at: string[], types: readonly string[]): void {
    for (const key of Object.keys(node)) {
      if (!known.has(key) && !key.startsWith('x-')) {
        throw new Error(`the schema says "${key}" at ${at.join('/')}: teach the walker what it means`);
      }
    }
    this.add(at, leafOf(node), types);
    if (node.$ref !== undefined) this.follow(node.$ref, at, types);
    for (const part of node.allOf ?? []) this.visit(part, at, types);
    for (const [name, member] of Object.entries(node.properties ?? {})) {
      if (name !== '_meta') this.visit(member, [...at, name], []);
    }
    if (node.items) this.visit(node.items, [...at, '*'], []);
    if (typeof node.additionalProperties === 'object') {
      this.visit(node.additionalProperties, [...at, '{}'], []);
    }
    for (const variants of [node.anyOf, node.oneOf]) if (variants) this.visitVariants(variants, at, types);
  }

  private follow(ref: string, at: string[], types: readonly string[]): void {
    const name = ref.replace('#/$defs/', '');
    const type = this.schema.$defs[name];
    if (!type) throw new Error(`no type ${ref}, wanted at ${at.join('/')}`);
    if (this.open.includes(name)) throw new Error(`${name} holds itself at ${at.join('/')}`);
    this.open.push(name);
    this.visit(type, at, [...types, name]);
    this.open.pop();
  }

  private visitVariants(variants: SchemaNode[], at: string[], types: readonly string[]): void {
    const tag = variants.map(tagOf).find((found) => found !== undefined)?.name;
    for (const variant of variants) {
      const own = tagOf(variant);
      const isUntagged = tag !== undefined && !variant.properties?.[tag] && variant.type !== 'null';
      const step = own ? [`?${own.name}=${own.value}`] : isUntagged ? [`?${tag}=`] : [];
      this.visit(variant, [...at, ...step], types);
    }
  }

  private add(at: string[], leaf: Place['leaf'], types: readonly string[]): void {
    const pointer = at.join('/');
    const earlier = this.places.get(pointer);
    const isText = [leaf, earlier?.leaf].includes('text');
    this.places.set(pointer, {
      pointer,
      leaf: isText ? 'text' : (leaf ?? earlier?.leaf),
      types: [...new Set([...(earlier?.types ?? []), ...types])],
    });
  }
}

/** The member that tells a variant from its siblings: the first that is a constant string. */
function tagOf(variant: SchemaNode): { name: string; value: string } | undefined {
  for (const [name, member] of Object.entries(variant.properties ?? {})) {
    if (typeof member.const === 'string') return { name, value: member.const };
  }
  return undefined;
}

function leafOf(node: SchemaNode): Place['leaf'] {
  if (node.const !== undefined || node.enum) return undefined;
  const types = [node.type ?? []].flat();
  if (types.includes('string')) return 'text';
  if (types.includes('integer') || types.includes('number')) return 'number';
  if (types.includes('boolean')) return 'flag';
  const isOpen = node.additionalProperties === true && !node.properties;
  const isDescribed = node.type ?? node.$ref ?? node.allOf ?? node.anyOf ?? node.oneOf ?? node.properties;
  return isOpen || isDescribed === undefined ? 'any' : undefined;
}
