import type { TSchema } from 'typebox';

import { type Issue, repeatable } from '../../core/errors.ts';
import { nearestName } from '../../core/nearest.ts';
import { lengthOf, regExpOf, textFault } from '../shapes/texts.ts';

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
  /** What a pattern or a choice means, in words. */
  readonly description?: string;
}

/** Problems that one answer tells: a small body must not make a large one. */
export const MAX_ISSUES = 20;

/**
 * The first problems of a value, in words. Values are never repeated: they may be secrets. Problems are looked for one at
 * a time, and nothing is looked at behind the last one that is told: a body that is wrong in thousands of places costs no
 * more than one that is wrong in twenty.
 */
export function explain(schema: TSchema, value: unknown): Issue[] {
  return problemsOf(schema, value, '').take(MAX_ISSUES).toArray();
}

function* problemsOf(schema: SchemaNode, value: unknown, path: string): Generator<Issue, undefined> {
  if (schema.anyOf !== undefined) yield* problemsOfUnion(schema, schema.anyOf, value, path);
  else if (schema.type === 'object' && isObject(value)) yield* problemsOfObject(schema, value, path);
  else if (schema.type === 'array' && Array.isArray(value) && hasFittingLength(schema, value.length)) {
    yield* problemsOfList(schema.items ?? {}, value, path);
  } else if (!fits(schema, value)) yield problem(schema, value, path);
}

/** Nearly all of a large body is in lists, and nearly all of that is right: a simple item is looked at and no more. */
function* problemsOfList(items: SchemaNode, list: readonly unknown[], path: string): Generator<Issue, undefined> {
  if (Object.keys(items).length === 0) return; // Anything may stand in it.
  const areSimple = isSimple(items);
  for (let i = 0; i < list.length; i++) {
    if (!areSimple || !fits(items, list[i])) yield* problemsOf(items, list[i], `${path}[${i}]`);
  }
}

function isSimple({ anyOf, type }: SchemaNode): boolean {
  return anyOf === undefined && type !== 'object' && type !== 'array';
}

/** `null` or something else: what is wrong is explained by the other. */
function* problemsOfUnion(
  schema: SchemaNode,
  choices: readonly SchemaNode[],
  value: unknown,
  path: string,
): Generator<Issue, undefined> {
  if (choices.some((choice) => problemsOf(choice, value, path).next().done)) return;
  const structured = choices.filter((choice) => isDescribedBy(choice, value));
  const named = structured.find((choice) => choice.required?.some((name) => Object.hasOwn(value as object, name)));
  const meant = named ?? structured[0];
  if (meant === undefined) yield problem(schema, value, path);
  else yield* problemsOf(meant, value, path);
}

function problem(schema: SchemaNode, value: unknown, path: string): Issue {
  const name = path || 'The body';
  const [fault] = (schema.anyOf ?? [schema]).flatMap((choice) => faultOf(choice, value) ?? []);
  return { path, message: `${name} ${fault ?? `must be ${describe(schema)}, not ${nameOf(value)}`}` };
}

function faultOf(schema: SchemaNode, value: unknown): string | null {
  const isText = schema.type === 'string' && typeof value === 'string' && hasTextLength(schema, value);
  return isText ? textFault(schema, value) : null;
}

/** Of the same structure: what is wrong with the value is then wrong inside of it. */
function isDescribedBy(schema: SchemaNode, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === 'array' && hasFittingLength(schema, value.length);
  return schema.type === 'object' && isObject(value);
}

function* problemsOfObject(
  { properties = {}, required = [], additionalProperties }: SchemaNode,
  value: Record<string, unknown>,
  path: string,
): Generator<Issue, undefined> {
  for (const name of required) {
    if (!Object.hasOwn(value, name)) yield { path: join(path, name), message: `${join(path, name)} is missing` };
  }
  for (const name of Object.keys(value)) {
    const inner = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (inner === undefined) {
      if (additionalProperties === false) yield unknownField(path, name, Object.keys(properties));
    } else if (!isSimple(inner) || !fits(inner, value[name])) {
      yield* problemsOf(inner, value[name], join(path, name));
    }
  }
}

function unknownField(path: string, name: string, known: readonly string[]): Issue {
  const near = nearestName(name, known);
  const hint = near === null ? '' : `, did you mean \`${near}\`?`;
  const shown = repeatable(name).replaceAll('"', '');
  return { path: join(path, shown), message: `unknown field \`${shown}\`${hint}` };
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasFittingLength({ minItems = 0, maxItems = Infinity }: SchemaNode, length: number): boolean {
  return length >= minItems && length <= maxItems;
}

function fits(schema: SchemaNode, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  switch (schema.type) {
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isInteger(value) && inRange(schema, value as number);
    case 'string':
      return typeof value === 'string' && isFittingText(schema, value);
    case 'object':
    case 'array':
      return false;
    default:
      return true;
  }
}

function inRange({ minimum = -Infinity, maximum = Infinity }: SchemaNode, value: number): boolean {
  return value >= minimum && value <= maximum;
}

function isFittingText(schema: SchemaNode, value: string): boolean {
  if (!hasTextLength(schema, value)) return false;
  if (schema.pattern !== undefined && !regExpOf(schema.pattern).test(value)) return false;
  return schema.format === undefined || textFault(schema, value) === null;
}

function hasTextLength({ minLength = 0, maxLength = Infinity }: SchemaNode, value: string): boolean {
  // A character has one or two units: nearly every text fits or not by these alone.
  const units = value.length;
  if (units < minLength || units > maxLength * 2) return false;
  if (units >= minLength * 2 && units <= maxLength) return true;
  const length = lengthOf(value);
  return length >= minLength && length <= maxLength;
}

function describe(schema: SchemaNode): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`;
  if ((schema.pattern ?? schema.anyOf) !== undefined && schema.description !== undefined) return schema.description;
  if (schema.anyOf !== undefined) return describeUnion(schema.anyOf);
  switch (schema.type) {
    case 'null':
      return 'null';
    case 'boolean':
      return 'true or false';
    case 'integer':
      return describeInteger(schema);
    case 'string':
      return describeText(schema);
    case 'array':
      return schema.maxItems === undefined ? 'a list' : `a list of ${schema.minItems ?? 0} to ${schema.maxItems} items`;
    default:
      return 'an object';
  }
}

function describeUnion(choices: readonly SchemaNode[]): string {
  const constants = choices.filter((choice) => choice.const !== undefined);
  const others = choices.filter((choice) => choice.const === undefined).map(describe);
  if (constants.length === 0) return others.join(' or ');
  return [`one of ${constants.map(describe).join(', ')}`, ...others].join(' or ');
}

function describeInteger({ minimum, maximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return `a whole number from ${minimum} to ${maximum}`;
  return minimum === undefined ? 'a whole number' : `a whole number of at least ${minimum}`;
}

function describeText({ minLength, maxLength }: SchemaNode): string {
  if (maxLength !== undefined) return `a string of ${minLength ?? 0} to ${maxLength} characters`;
  return minLength === undefined ? 'a string' : `a string of at least ${minLength} characters`;
}

/** What was sent, by its kind and, for numbers, by its value: JSON's 1e400 is infinite, 2^53+1 is rounded. */
function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length} items`;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'a number too large';
  if (typeof value === 'string') return value === '' ? 'an empty string' : `a string of ${lengthOf(value)} characters`;
  return typeof value === 'boolean' ? String(value) : 'an object';
}
