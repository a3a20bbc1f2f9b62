import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Errors } from 'typebox/schema';
import { Settings } from 'typebox/system';

import type { Issue } from '../../core/errors.ts';
import { missing, notExpected, type SchemaNode, unknownField } from './issueWords.ts';

/** Problems in one answer: a small request must not cause a large answer. */
export const MAX_ISSUES = 20;

Settings.Set({ maxErrors: MAX_ISSUES });

/**
 * The first problems of a value that the validator refuses, in words. All of them are the validator's own errors. To ask it for the
 * errors of a whole body takes up to 100 times as long as the check (600 ms for 100,000 values of which the last one is wrong), because it goes
 * on to the end of the body. So it is asked for the errors of one object, list or text at a time, without what is in it, and only of those
 * that its compiled check refuses. Reading stops after the last problem that is reported.
 */
export function explain(schema: TSchema, value: unknown): Issue[] {
  return problemsOf(schema, value, '').take(MAX_ISSUES).toArray();
}

function* problemsOf(schema: SchemaNode, value: unknown, path: string): Generator<Issue, undefined> {
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
): Generator<Issue, undefined> {
  for (const name of errors.flatMap(missingIn)) yield missing(join(path, name));
  const unknown = new Set(errors.flatMap(unknownIn));
  for (const name of Object.keys(value)) {
    if (unknown.has(name)) yield unknownField(path, name, Object.keys(properties));
    else if (Object.hasOwn(properties, name)) yield* problemsOf(properties[name] ?? {}, value[name], join(path, name));
  }
}

/** Nearly all of a large body is in lists, and nearly all items are valid. */
function* problemsOfList(items: SchemaNode, list: readonly unknown[], path: string): Generator<Issue, undefined> {
  if (Object.keys(items).length === 0) return; // Any item is valid.
  const validator = validatorOf(items);
  for (let i = 0; i < list.length; i++) {
    if (!validator.Check(list[i])) yield* problemsOf(items, list[i], `${path}[${i}]`);
  }
}

/** Of several choices, usually a type or null, the one that resembles the value explains the problem. */
function* problemsOfUnion(
  schema: SchemaNode,
  choices: readonly SchemaNode[],
  value: unknown,
  path: string,
): Generator<Issue, undefined> {
  if (choices.some((choice) => validatorOf(choice).Check(value))) return;
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
