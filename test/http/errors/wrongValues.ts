/** The parts of JSON Schema that request schemas use. */
export interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Node;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
}

/** A value that must be refused, as JSON text (some numbers have no other form), and where the fault lies. */
export interface WrongValue {
  readonly path: string;
  readonly json: string;
}

/** Everything that a schema forbids in the place `path`: other types, numbers and texts past each bound. */
export function wrongValues(node: Node, path: string): WrongValue[] {
  if (node.anyOf !== undefined)
    return wrongForUnion(
      node.anyOf.flatMap((choice) => choice.anyOf ?? choice),
      path,
    );
  const own = wrongFor(node).map((json) => ({ path, json }));
  return [...own, ...nested(node, path)];
}

/** A union takes what one of its choices takes: what all of them refuse is wrong, and what is wrong inside of one. */
function wrongForUnion(choices: readonly Node[], path: string): WrongValue[] {
  const all = new Set(choices.flatMap(wrongFor));
  const refused = [...all].filter((json) =>
    choices.every((choice) => !isOfType(choice, json) || wrongFor(choice).includes(json)),
  );
  const structured = ['object', 'array'].flatMap((type) => choices.find((choice) => choice.type === type) ?? []);
  return [...refused.map((json) => ({ path, json })), ...structured.flatMap((choice) => nested(choice, path))];
}

function isOfType({ type, const: constant, enum: constants }: Node, json: string): boolean {
  const value: unknown = JSON.parse(json);
  if (constants !== undefined) return constants.includes(value);
  if (constant !== undefined) return value === constant;
  if (type === 'array' || Array.isArray(value)) return type === 'array' && Array.isArray(value);
  if (type === 'null' || value === null) return type === 'null' && value === null;
  return typeof value === (type === 'integer' ? 'number' : type);
}

function wrongFor(node: Node): string[] {
  if (node.const !== undefined || node.enum !== undefined) return ['5', 'true', 'null', '{}', '[]', '"something else"'];
  switch (node.type) {
    case 'integer':
      return [
        '"5"',
        '1.5',
        ...(node.minimum === undefined || node.minimum >= 0 ? ['-1'] : []),
        '1e400',
        '9007199254740993',
        'true',
        'null',
        '[]',
        '{}',
        ...pastRange(node),
      ];
    case 'string':
      return ['5', 'true', 'null', '[]', '{}', ...pastText(node)];
    case 'boolean':
      return ['"true"', '1', '0', 'null', '[]', '{}'];
    case 'array':
      return ['"x"', '5', 'null', '{}', ...pastItems(node)];
    case 'object':
      return ['"x"', '5', 'true', 'null', '[]'];
    default:
      return [];
  }
}

function pastRange({ minimum = 0, maximum = 0 }: Node): string[] {
  return [String(minimum - 1), String(maximum + 1)];
}

function pastText({ minLength, maxLength, pattern }: Node): string[] {
  return [
    ...(minLength === undefined || minLength === 0 ? [] : [JSON.stringify('a'.repeat(minLength - 1))]),
    ...(maxLength === undefined ? [] : [JSON.stringify('a'.repeat(maxLength + 1))]),
    ...(pattern === undefined ? [] : ['"a\\u0000b"', '"\\ud800"', '"a\\udc00"']),
  ];
}

function pastItems({ minItems = 0, maxItems }: Node): string[] {
  const lengths = [...(minItems === 0 ? [] : [minItems - 1]), ...(maxItems === undefined ? [] : [maxItems + 1])];
  return lengths.map((length) => JSON.stringify(Array.from({ length }, () => 'x')));
}

/** One fault at a time inside an otherwise right object or list. */
function nested(node: Node, path: string): WrongValue[] {
  if (node.type === 'array' && node.items !== undefined) {
    return wrongValues(node.items, `${path}[0]`).map(({ path: at, json }) => ({ path: at, json: `[${json}]` }));
  }
  if (node.type !== 'object' || node.additionalProperties !== false) return [];
  const properties = Object.entries(node.properties ?? {});
  const found: WrongValue[] = [{ path: `${path}.nonsense`, json: objectText(node, { nonsense: '1' }) }];
  for (const name of node.required ?? []) found.push({ path: `${path}.${name}`, json: objectText(node, {}, name) });
  for (const [name, inner] of properties) {
    for (const { path: at, json } of wrongValues(inner, `${path}.${name}`)) {
      found.push({ path: at, json: objectText(node, { [name]: json }) });
    }
  }
  return found;
}

/** The object with its required members, some of them replaced, one left out. */
function objectText(node: Node, replaced: Record<string, string>, without?: string): string {
  const members: Record<string, string> = {};
  for (const name of node.required ?? []) members[name] = someValue(node.properties?.[name] ?? {});
  const all = Object.entries({ ...members, ...replaced }).filter(([name]) => name !== without);
  return `{${all.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

/** A value that the schema takes, as JSON text. */
function someValue(node: Node): string {
  const [choice] = node.anyOf ?? [];
  if (choice !== undefined) return someValue(choice);
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum !== undefined) return JSON.stringify(node.enum[0]);
  switch (node.type) {
    case 'integer':
      return String(node.minimum ?? 1);
    case 'string':
      return JSON.stringify(someText(node));
    case 'boolean':
      return 'true';
    case 'array':
      return `[${Array.from({ length: node.minItems ?? 0 }, () => someValue(node.items ?? {})).join(',')}]`;
    default:
      return objectText(node, {});
  }
}

function someText({ minLength = 1, pattern }: Node): string {
  const texts = ['a'.repeat(minLength), Bun.SHA256.hash('', 'base64'), '2026-01-01'];
  const fitting = texts.find((text) => pattern === undefined || new RegExp(pattern, 'u').test(text));
  if (fitting === undefined) throw new Error(`no text is known that fits ${pattern}`);
  return fitting;
}
