import type { TSchema } from 'typebox';

interface Node {
  readonly type?: string;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
}

/**
 * Turns query parameters into a request body. Numbers, true and false are converted where the schema asks for them. Lists are
 * separated by commas or repeated. A value that cannot be converted stays a text, and the schema reports it.
 */
export function queryToBody(schema: TSchema, params: URLSearchParams): Record<string, unknown> {
  const body: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, values] of valuesByName(params)) {
    if (name === 'pretty') continue;
    const node = (schema as Node).properties?.[name];
    if (takes(node, 'array')) body[name] = values.flatMap((value) => value.split(','));
    else body[name] = values.length === 1 ? toValue(node, values[0] ?? '') : values;
  }
  return body;
}

/** One pass over all parameters: `getAll` would read all of them again for each name. */
function valuesByName(params: URLSearchParams): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, value] of params) {
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}

function toValue(node: Node | undefined, text: string): unknown {
  if (takes(node, 'integer') && /^-?\d{1,17}$/.test(text)) return Number(text);
  if (takes(node, 'boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (takes(node, 'null') && !takes(node, 'string') && text === 'null') return null;
  return text;
}

/** The schema, or one of its choices, has this type. */
function takes(node: Node | undefined, type: string): boolean {
  return node?.type === type || node?.anyOf?.some((choice) => takes(choice, type)) === true;
}
