import { type Issue, repeatable } from '../../core/errors.ts';
import { nearestName } from '../../core/nearest.ts';
import { lengthOf, textFault } from '../../model/schema/textRules.ts';

/** The parts of JSON Schema that our schemas use. */
export interface SchemaNode {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaNode[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
  /** What a pattern or a choice means, in the words of a message. */
  readonly 'x-expected'?: string;
}

export function missing(path: string): Issue {
  return { path, message: `${path} is missing` };
}

export function unknownField(path: string, name: string, known: readonly string[]): Issue {
  const near = nearestName(name, known);
  const hint = near === null ? '' : `, did you mean \`${near}\`?`;
  const shown = repeatable(name).replaceAll('"', '');
  return { path: path === '' ? shown : `${path}.${shown}`, message: `unknown field \`${shown}\`${hint}` };
}

export function notExpected(schema: SchemaNode, value: unknown, path: string): Issue {
  const [fault] = (schema.anyOf ?? [schema]).flatMap((choice) => faultOf(choice, value) ?? []);
  const must = fault ?? `must be ${expected(schema)}`;
  return { path, message: `${path || 'The body'} ${must}, got ${given(path, value)}` };
}

/** A problem of a text other than its length. */
function faultOf(schema: SchemaNode, value: unknown): string | null {
  if (schema.type !== 'string' || typeof value !== 'string') return null;
  const { minLength = 0, maxLength = Infinity } = schema;
  // A character has one or two units.
  if (value.length > maxLength * 2) return null;
  const length = lengthOf(value);
  return length < minLength || length > maxLength ? null : textFault(schema, value);
}

function expected(schema: SchemaNode): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`;
  if (schema['x-expected'] !== undefined) return schema['x-expected'];
  if (schema.anyOf !== undefined) return expectedOneOf(schema.anyOf);
  return EXPECTED[schema.type ?? '']?.(schema) ?? 'an object';
}

/** What a value of each type must be. */
const EXPECTED: Readonly<Record<string, (schema: SchemaNode) => string>> = {
  null: () => 'null',
  boolean: () => 'true or false',
  integer({ minimum, maximum }) {
    if (minimum !== undefined && maximum !== undefined) return `a whole number from ${minimum} to ${maximum}`;
    return minimum === undefined ? 'a whole number' : `a whole number of at least ${minimum}`;
  },
  string({ minLength, maxLength }) {
    if (maxLength !== undefined) return `a string of ${minLength ?? 0} to ${maxLength} characters`;
    return minLength === undefined ? 'a string' : `a string of at least ${counted(minLength, 'character')}`;
  },
  array: ({ minItems = 0, maxItems }) =>
    maxItems === undefined ? 'a list' : `a list of ${minItems} to ${maxItems} items`,
};

function expectedOneOf(choices: readonly SchemaNode[]): string {
  const constants = choices.filter((choice) => choice.const !== undefined);
  const others = choices.filter((choice) => choice.const === undefined).map(expected);
  if (constants.length === 0) return others.join(' or ');
  return [`one of ${constants.map(expected).join(', ')}`, ...others].join(' or ');
}

/**
 * The value is or may be a secret: a key, a plaintext or its beginning, a hash, or a text that was sent instead of an object with one of
 * these.
 */
const SECRET_PATH = /^(?:.*\.)?(?:key|keys(?:\[\d+\])?|plaintext|start|authorization|hash(?:\.\w+)?)$|^(?:\[\d+\])?$/;
const MAX_SHOWN = 64;
const MAX_COUNTED = 10_000;

/** The name of a kind of digest is no secret, where such a name belongs. */
const DIGEST_NAME = /^(?:md5|sha|bcrypt|scrypt|argon|pbkdf)[\w-]{0,12}$/i;
const DIGEST_NAME_PATH = /(?:^|\.)hash\.variant$/;

/** The value that was sent, as a message may show it. */
export function given(path: string, value: unknown): string {
  if (Array.isArray(value)) return `a list of ${counted(value.length, 'item')}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const isName = typeof value === 'string' && DIGEST_NAME_PATH.test(path) && DIGEST_NAME.test(value);
  if (value !== '' && SECRET_PATH.test(path) && !isName) return givenSecret(value);
  if (typeof value === 'string') {
    return value.length <= MAX_SHOWN ? repeatable(value) : `${repeatable(value)}... (${lengthShown(value)})`;
  }
  // JSON's 1e400 is infinite, and 2^53 + 1 is rounded: a number is shown as it was read.
  return value === Infinity || value === -Infinity ? 'a number that is too large' : String(value);
}

function givenSecret(value: unknown): string {
  if (typeof value === 'string') return `a string of ${lengthShown(value)} (not shown)`;
  return typeof value === 'number' ? 'a number (not shown)' : String(value);
}

/** The characters of a very long text are not counted: for 4 MiB, counting would take longer than everything else. */
function lengthShown(text: string): string {
  return text.length > MAX_COUNTED * 2 ? `more than ${MAX_COUNTED} characters` : counted(lengthOf(text), 'character');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
