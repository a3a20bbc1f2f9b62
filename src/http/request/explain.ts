import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Errors } from 'typebox/schema';
import { Settings } from 'typebox/system';

import { MAX_ISSUES } from '../../core/bounds.ts';
import { type Issue, repeatable } from '../../core/errors.ts';
import { nearestName } from '../../basics/nearestName.ts';
import { lengthOf, textFault } from '../../model/schema/textRules.ts';

Settings.Set({ maxErrors: MAX_ISSUES });

export function isValid(schema: TSchema, value: unknown): boolean {
  return fits(schema, value);
}

/**
 * The first problems of a value that the validator refuses, in words. All of them are the validator's own errors. To ask it for the
 * errors of a whole body takes up to 100 times as long as the check (600 ms for 100,000 values of which the last one is wrong), because it goes
 * on to the end of the body. So it is asked for the errors of one object, list or text at a time, without what is in it, and only of those
 * that its compiled check refuses. Reading stops after the last problem that is reported.
 */
export function explain(schema: TSchema, value: unknown): Issue[] {
  return problemsOf(schema, value, '')
    .filter((found) => found !== null)
    .take(MAX_ISSUES)
    .toArray();
}

/** The same for a large value, which may be valid. `giveWay` is asked after each item of a list; null: the search goes on at once. */
export async function explainInSteps(
  schema: TSchema,
  value: unknown,
  giveWay: () => Promise<void> | null,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const found of problemsOf(schema, value, '')) {
    if (found !== null && issues.push(found) === MAX_ISSUES) break;
    const pause = giveWay();
    if (pause !== null) await pause;
  }
  return issues;
}

/** Null: one more item of a list was looked at. */
type Problems = Generator<Issue | null, undefined>;

function* problemsOf(schema: SchemaNode, value: unknown, path: string): Problems {
  if (schema.anyOf !== undefined) return yield* problemsOfUnion(schema, schema.anyOf, value, path);
  const errors = ownErrors(schema, value);
  if (schema.type === 'object' && isObject(value)) yield* problemsOfObject(schema, value, path, errors);
  else if (errors.length > 0) yield notExpected(schema, value, path);
  else if (Array.isArray(value)) yield* problemsOfList(schema.items ?? {}, value, path);
}

function* problemsOfObject(
  { properties = {} }: SchemaNode,
  value: Record<string, unknown>,
  path: string,
  errors: readonly ValidatorError[],
): Problems {
  const absent = errors.flatMap(missingIn);
  const unknown = new Set(errors.flatMap(unknownIn));
  if (errors.length > 0 && absent.length + unknown.size === 0) yield notExpected({ type: 'object' }, value, path);
  for (const name of absent) yield missing(join(path, name));
  for (const name of Object.keys(value)) {
    if (unknown.has(name)) yield unknownField(path, name, Object.keys(properties));
    else if (Object.hasOwn(properties, name)) yield* problemsOf(properties[name] ?? {}, value[name], join(path, name));
  }
}

/** Nearly all of a large body is in lists, and nearly all items are valid. */
function* problemsOfList(items: SchemaNode, list: readonly unknown[], path: string): Problems {
  if (Object.keys(items).length === 0) return; // Any item is valid.
  for (let i = 0; i < list.length; i++) {
    if (!fits(items, list[i])) yield* problemsOf(items, list[i], `${path}[${i}]`);
    yield null;
  }
}

/** Of several choices, usually a type or null, the one that resembles the value explains the problem. */
function* problemsOfUnion(schema: SchemaNode, choices: readonly SchemaNode[], value: unknown, path: string): Problems {
  if (choices.some((choice) => fits(choice, value))) return;
  const alike = choices.filter((choice) => isOfSameKind(choice, value));
  const named = alike.find((choice) => choice.required?.some((name) => Object.hasOwn(value as object, name)));
  const meant = named ?? alike[0];
  if (meant === undefined) yield notExpected(schema, value, path);
  else yield* problemsOf(meant, value, path);
}

/** Both are objects, or both are lists of a valid length. The problem is then inside the value. */
function isOfSameKind(schema: SchemaNode, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === 'array' && ownErrors(schema, value).length === 0;
  return schema.type === 'object' && isObject(value);
}

/** One error of the validator, with the fields that are used here. */
interface ValidatorError {
  readonly keyword: string;
  /** A JSON pointer (RFC 6901). */
  readonly instancePath: string;
  readonly params: object;
}

/** Errors of the value itself, without those of its members and items. */
function ownErrors(schema: SchemaNode, value: unknown): readonly ValidatorError[] {
  return Errors(keptFor(shallow, schema, withoutInner) as TSchema, value)[1];
}

function missingIn({ keyword, params }: ValidatorError): readonly string[] {
  return keyword === 'required'
    ? (params as { readonly requiredProperties: readonly string[] }).requiredProperties
    : [];
}

/** The validator reports an unknown member with the schema `false`. */
function unknownIn({ keyword, instancePath }: ValidatorError): readonly string[] {
  return keyword === 'boolean' ? [instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')] : [];
}

const shallow = new WeakMap<SchemaNode, SchemaNode>();

/** The same schema, but any items and any values of members are valid. */
function withoutInner({ items: _items, properties, ...own }: SchemaNode): SchemaNode {
  if (properties === undefined) return own;
  return { ...own, properties: Object.fromEntries(Object.keys(properties).map((name) => [name, {}])) };
}

/** What the compiled check says. It looks at all items of a list before it counts them, so that is done before. */
function fits(schema: SchemaNode, value: unknown): boolean {
  return !isOverfull(listsIn(schema), value) && validatorOf(schema).Check(value);
}

/** Where the lists of a schema are. */
interface Lists {
  readonly maxItems: number;
  /** What is in the items of this list. */
  readonly items: Lists | null;
  readonly members: readonly (readonly [name: string, lists: Lists])[];
}

function isOverfull(lists: Lists | null, value: unknown): boolean {
  if (lists === null || typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value)) {
    return lists.members.some(([name, ofMember]) => isOverfull(ofMember, (value as Record<string, unknown>)[name]));
  }
  return value.length > lists.maxItems || (lists.items !== null && value.some((item) => isOverfull(lists.items, item)));
}

const knownLists = new WeakMap<SchemaNode, Lists | null>();

/** Null: there are none, or several choices have some. */
function listsIn(schema: SchemaNode): Lists | null {
  return keptFor(knownLists, schema, ({ anyOf, items, maxItems = Infinity, type, properties = {} }) => {
    if (anyOf !== undefined) {
      const [lists = null, ...others] = anyOf.map(listsIn).filter((each) => each !== null);
      return others.length === 0 ? lists : null;
    }
    if (type === 'array') return { maxItems, items: listsIn(items ?? {}), members: [] };
    const members = Object.entries(properties).flatMap(([name, member]) => {
      const lists = listsIn(member);
      return lists === null ? [] : [[name, lists] as const];
    });
    return members.length === 0 ? null : { maxItems: Infinity, items: null, members };
  });
}

const validators = new WeakMap<SchemaNode, ReturnType<typeof Compile>>();

function validatorOf(schema: SchemaNode): ReturnType<typeof Compile> {
  return keptFor(validators, schema, (node) => Compile(node as TSchema));
}

/** Made once for each part of a schema. */
function keptFor<T>(kept: WeakMap<SchemaNode, T>, schema: SchemaNode, make: (schema: SchemaNode) => T): T {
  const known = kept.get(schema);
  if (known !== undefined) return known;
  const made = make(schema);
  kept.set(schema, made);
  return made;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The parts of JSON Schema that our schemas use. */
interface SchemaNode {
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

function missing(path: string): Issue {
  return { path, message: `${path} is missing` };
}

function unknownField(path: string, name: string, known: readonly string[]): Issue {
  const near = nearestName(name, known);
  const hint = near === null ? '' : `, did you mean \`${near}\`?`;
  const shown = repeatable(name).replaceAll('"', '');
  return { path: path === '' ? shown : `${path}.${shown}`, message: `unknown field \`${shown}\`${hint}` };
}

function notExpected(schema: SchemaNode, value: unknown, path: string): Issue {
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
