import type { TSchema } from 'typebox';

import { type Issue, repeatable } from '../core/errors.ts';
import { nearestName } from '../core/nearest.ts';
import { textFault } from './texts.ts';

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

/** Everything that is wrong with a value, in words; the values themselves are never repeated, they may be secrets. */
export function explain(schema: TSchema, value: unknown): Issue[] {
  const issues: Issue[] = [];
  visit(schema, value, '', issues);
  return issues.slice(0, MAX_ISSUES);
}

function visit(schema: SchemaNode, value: unknown, path: string, issues: Issue[]): void {
  if (schema.anyOf !== undefined) return visitUnion(schema, schema.anyOf, value, path, issues);
  if (schema.type === 'object' && isObject(value)) return visitObject(schema, value, path, issues);
  if (schema.type === 'array' && Array.isArray(value) && hasFittingLength(schema, value.length)) {
    for (const [i, item] of value.entries()) visit(schema.items ?? {}, item, `${path}[${i}]`, issues);
    return;
  }
  if (!fits(schema, value)) issues.push(problem(schema, value, path));
}

/** `null` or something else: what is wrong is explained by the other. */
function visitUnion(
  schema: SchemaNode,
  choices: readonly SchemaNode[],
  value: unknown,
  path: string,
  issues: Issue[],
): void {
  if (choices.some((choice) => collect(choice, value, path).length === 0)) return;
  const structured = choices.filter((choice) => isDescribedBy(choice, value));
  const named = structured.find((choice) => choice.required?.some((name) => Object.hasOwn(value as object, name)));
  const meant = named ?? structured[0];
  if (meant !== undefined) return visit(meant, value, path, issues);
  issues.push(problem(schema, value, path));
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

function collect(schema: SchemaNode, value: unknown, path: string): Issue[] {
  const issues: Issue[] = [];
  visit(schema, value, path, issues);
  return issues;
}

function visitObject(schema: SchemaNode, value: Record<string, unknown>, path: string, issues: Issue[]): void {
  const known = Object.keys(schema.properties ?? {});
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) {
      issues.push({ path: join(path, name), message: `${join(path, name)} is missing` });
    }
  }
  for (const [name, member] of Object.entries(value)) {
    const inner = known.includes(name) ? schema.properties?.[name] : undefined;
    if (inner !== undefined) visit(inner, member, join(path, name), issues);
    else if (schema.additionalProperties === false) issues.push(unknownField(path, name, known));
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
  if (!hasTextLength(schema, value) || textFault(schema, value) !== null) return false;
  return schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value);
}

function hasTextLength({ minLength = 0, maxLength = Infinity }: SchemaNode, value: string): boolean {
  const length = lengthOf(value);
  return length >= minLength && length <= maxLength;
}

/** In characters as the schemas count them, not in UTF-16 units. */
function lengthOf(text: string): number {
  return Array.from(text).length;
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
