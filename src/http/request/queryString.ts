import type { TSchema } from 'typebox';

interface Node {
  readonly type?: string;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
}

/**
 * Query parameters as the body that they stand for: numbers and the words true and false become what the schema wants,
 * lists are comma-joined or repeated. What does not fit stays text, and the schema refuses it with its own words.
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

/** In one pass: `getAll` for each name would read all of them once more for each. */
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

/** The schema, or one of those that it is a choice of, is of this type. */
function takes(node: Node | undefined, type: string): boolean {
  return node?.type === type || node?.anyOf?.some((choice) => takes(choice, type)) === true;
}
