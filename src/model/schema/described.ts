import { Type } from 'typebox';

/**
 * Words and examples that a schema carries for /openapi.json. They are plain properties of the schema, and the validators ignore them.
 */

/** The schemas with a name, by their names. The name of a schema is its `title`. */
const components = new Map<string, Type.TSchema>();
/** The schemas that contain themselves. */
const recursives = new Map<string, Type.TSchema>();
/** Hidden like the properties of typebox, so that no validator sees it. */
const RECURSIVE = '~recursive';

/** The same schema as a field, with words and examples of its own. Without them, it keeps those that it has. */
export function field<const S extends Type.TSchema>(
  schema: S,
  description?: string,
  ...examples: readonly unknown[]
): S {
  return withOptions(schema, {
    ...(description === undefined ? {} : { description }),
    ...(examples.length === 0 ? {} : { examples }),
  });
}

/** A field that a request or an answer may leave out. */
export function optional<const S extends Type.TSchema>(
  schema: S,
  description?: string,
  ...examples: readonly unknown[]
) {
  return Type.Optional(field(schema, description, ...examples));
}

/** A field for older programs. Newer ones need not know it. */
export function formerField<const S extends Type.TSchema>(
  schema: S,
  description: string,
  ...examples: readonly unknown[]
): S {
  return withOptions(field(schema, description, ...examples), { deprecated: true });
}

/** The same where a request may leave it out. */
export function former<const S extends Type.TSchema>(schema: S, description: string, ...examples: readonly unknown[]) {
  return Type.Optional(formerField(schema, description, ...examples));
}

/** A field with a list of one kind of item. The example of the item is the example of the list. */
export function listOf<const S extends Type.TSchema>(item: S, description: string, options: Type.TArrayOptions = {}) {
  const { examples = [] } = item as { examples?: readonly unknown[] };
  return Type.Array(item, { ...options, description, examples: [examples.slice(0, 1)] });
}

/** Gives a schema its name in /openapi.json, where every use of it becomes a reference to this name. */
export function component<const S extends Type.TSchema>(
  name: string,
  schema: S,
  description: string,
  ...examples: readonly unknown[]
): S {
  if (components.has(name)) throw new Error(`two schemas have the name ${name}`);
  const made = withOptions(schema, { title: name, description, examples });
  components.set(name, made);
  return made;
}

/**
 * A schema that contains itself. The document shows it in each place instead of a reference: generators for Python know no union that
 * refers to itself.
 */
export function recursive<const S extends Type.TSchema>(name: string, schema: S): S {
  recursives.set(name, schema);
  return schema;
}

/** The inside of a recursive schema: any value for the validator, which reads no further. The document shows the schema again. */
export function recursiveReference(name: string) {
  return Object.defineProperty(Type.Unknown(), RECURSIVE, { value: name });
}

/** The schema that the document shows in this place. */
export function shownFor(schema: object): object {
  return RECURSIVE in schema ? (recursives.get(String(schema[RECURSIVE])) ?? schema) : schema;
}

/** The schema as it was named, without the words of a field. */
export function componentOf(schema: object): Type.TSchema | null {
  return 'title' in schema ? (components.get(String(schema.title)) ?? null) : null;
}

/** What a text or a choice must be, as the messages for wrong values say it. It is not shown in the document. */
export const EXPECTED = 'x-expected';

/** A copy that also has the properties of a schema that cannot be enumerated. */
function withOptions<const S extends Type.TSchema>(schema: S, options: object): S {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as S;
  return Object.assign(copy, options);
}
