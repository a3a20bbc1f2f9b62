import { idPattern } from '../../src/core/ids.ts';
import { showDuration } from '../../src/config/kinds.ts';
import { CLIENT_SETTINGS, COMMON_FLAGS } from '../../src/cli/help.ts';
import type { EndpointField, FieldKind } from '../../src/cli/endpoint/endpoint.ts';
import { hasOwnWord, inSentence, userWord } from '../../src/cli/words.ts';
import { commandNamed, flagOf, switchFlags } from './endpointNames.ts';

/**
 * The fields of a command, from the schema of its request. What the schema does not say is read from its words: a time from "unix
 * milliseconds", a list that can be emptied from "`[]`", a switch without an opposite from "false when absent". Tests compare each example
 * with the request that it makes.
 */

/** The part of JSON Schema that the schemas of the service use. */
export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly deprecated?: boolean;
}

const CUSTOMER_ID = { member: 'identityId', pattern: idPattern('id') } as const;

/** Two members that name one thing, by its id or otherwise. They are one flag. */
const PAIRS = [
  { id: CUSTOMER_ID.member, other: 'externalId', pattern: CUSTOMER_ID.pattern },
  { id: 'namespaceId', other: 'namespaceName', pattern: idPattern('ns') },
  { id: 'roleId', other: 'name', pattern: idPattern('role') },
] as const;

/** The flag of each member, where the route gives it another name. null: it has none. */
type FlagWords = Readonly<Record<string, string | null>>;

export function fieldsOf(command: string, request: Schema, words: FlagWords = {}): EndpointField[] {
  const properties = flattened(request.properties ?? {}, words);
  const { required = [] } = request;
  const members = Object.keys(properties).filter(
    (member) => words[member] !== null && properties[member]?.deprecated !== true,
  );
  const pairs = PAIRS.filter(({ id, other }) => members.includes(id) && members.includes(other));
  const fields = members.flatMap((member): EndpointField[] => {
    const pair = pairs.find(({ id, other }) => id === member || other === member);
    if (pair?.id === member) return [];
    const field = { ...fieldOf(member, properties[member] ?? {}, members), ...wordOf(words[member]) };
    const more = { ...field, ...(required.includes(member) ? { isRequired: true as const } : {}) };
    if (pair === undefined) return [more];
    const flag = flagOf(pair.id, false, members);
    return [orById({ ...more, flag }, { member: pair.id, pattern: pair.pattern })];
  });
  const named = withOperand(command, withWindow(fields)).map((field) => withFreeFlag(command, withCustomerId(field)));
  return named.map((field) => ({ ...field, meaning: inFlags(field, named) }));
}

function orById(field: EndpointField, byId: NonNullable<EndpointField['byId']>): EndpointField {
  const start = byId.pattern.slice(1).split('_')[0];
  return { ...field, meaning: `${field.meaning} An id (${start}_...) works too.`, byId };
}

/** Every flag that names a customer takes its id too: where the request does not, the command looks it up. */
function withCustomerId(field: EndpointField): EndpointField {
  const { member, operand, byId } = field;
  const isCustomer = member === 'externalId' || member === 'ownerId';
  if (!isCustomer || operand !== undefined || byId !== undefined) return field;
  return orById(field, { ...CUSTOMER_ID, isLookedUp: true });
}

function wordOf(flag: string | null | undefined): { flag?: string } {
  return flag ? { flag } : {};
}

/** An object of which the route names a member, such as `remaining.cost`, is that member. */
function flattened(properties: Readonly<Record<string, Schema>>, words: FlagWords): Readonly<Record<string, Schema>> {
  const inner = Object.keys(words).filter((word) => word.includes('.'));
  const entries = Object.entries(properties).map(([name, schema]): [string, Schema] => {
    const path = inner.find((word) => word.startsWith(`${name}.`));
    return path === undefined ? [name, schema] : [path, schema.properties?.[path.slice(name.length + 1)] ?? {}];
  });
  return Object.fromEntries(entries);
}

function fieldOf(member: string, schema: Schema, others: readonly string[]): EndpointField {
  const { description = '' } = schema;
  const choices = schema.anyOf ?? [schema];
  const isNullable = choices.some(({ type }) => type === 'null');
  const real = choices.filter(({ type }) => type !== 'null');
  const list = real.find(({ type }) => type === 'array');
  const one = list === undefined ? real : [list.items ?? {}];
  const kind = kindOf(member, one, description);
  const { enum: values, minimum, maximum } = one[0] ?? {};
  return {
    ...(kind === 'switch' ? switchOf(member, description) : { flag: flagOf(member, list !== undefined, others) }),
    member,
    kind,
    meaning: description,
    ...(isNullable ? { isNullable } : {}),
    ...(list === undefined ? {} : { isList: true }),
    ...(!isNullable && description.includes('`[]`') ? { isEmptyable: true } : {}),
    ...(kind === 'choice' ? { choices: (values ?? []).map(String) } : {}),
    ...(minimum === undefined || kind === 'time' ? {} : { min: minimum }),
    ...(maximum === undefined || kind === 'time' ? {} : { max: maximum }),
  };
}

/** What is false unless it is said needs no flag for false. */
function switchOf(member: string, description: string): { flag: string; off?: string } {
  const { flag, off } = switchFlags(member);
  return /false (?:when|or) absent/.test(description) && member !== 'async' ? { flag } : { flag, off };
}

function kindOf(member: string, schemas: readonly Schema[], description: string): FieldKind {
  const [first = {}, ...more] = schemas;
  if (more.length > 0) return 'jsonOrText';
  if (first.enum !== undefined) return 'choice';
  if (first.type === 'integer') return numberKind(member, description);
  if (first.type === 'boolean') return 'switch';
  if (first.type === 'string') return member === 'key' ? 'secret' : 'text';
  return objectKind(first);
}

export function numberKind(member: string, description: string): 'time' | 'duration' | 'count' {
  if (/unix milliseconds/.test(description)) return 'time';
  return /Ms$|^duration$/.test(member) ? 'duration' : 'count';
}

function objectKind({ properties = {}, required = [] }: Schema): FieldKind {
  const has = (...names: string[]): boolean => names.every((name) => name in properties);
  if (has('interval', 'amount')) return 'refill';
  if (has('limit', 'duration') && !has('identifier')) return has('name') ? 'namedRate' : 'rate';
  if (has('id', 'name') && required.length === 0) return 'reference';
  return 'json';
}

/** `10/s` sets a limit and its window. */
function withWindow(fields: readonly EndpointField[]): EndpointField[] {
  const hasWindow = fields.some(({ member }) => member === 'duration');
  return fields.map((field) => (field.member === 'limit' && hasWindow ? { ...field, window: 'duration' } : field));
}

/** What a new record is known by. */
const NAMING = new Set(['name', 'url']);

/** The one field that names what the command is about is its argument. */
function withOperand(command: string, fields: readonly EndpointField[]): EndpointField[] {
  const [noun = '', verb = ''] = command.split(' ');
  const found =
    fields.find(({ kind }) => kind === 'secret') ??
    fields.find(({ flag, member, kind }) => flag === noun && member.endsWith('Id') && kind === 'text') ??
    fields.find(({ flag, byId }) => byId !== undefined && (flag === noun || noun === 'portal')) ??
    fields.find(({ member }) => member === 'identifier') ??
    fields.find(({ member }) => verb === 'create' && noun !== 'key' && NAMING.has(member));
  return fields.map((field) => (field === found ? { ...field, operand: operandName(field) } : field));
}

function operandName({ flag, member, kind, byId, isRequired, isNullable }: EndpointField): string {
  if (kind === 'secret') return '[KEY]';
  const isId = byId === undefined && member.endsWith('Id') && !hasOwnWord(member);
  const name = isId ? 'ID' : flag.toUpperCase();
  const isOptional = byId === undefined && (isRequired !== true || isNullable === true);
  return isOptional ? `[${name.replaceAll('-', '_')}]` : name.replaceAll('-', '_');
}

/** A flag that is also a setting of the command line gets the noun before it. */
function withFreeFlag(command: string, field: EndpointField): EndpointField {
  const isTaken = CLIENT_SETTINGS.includes(field.flag) || field.flag in COMMON_FLAGS;
  return isTaken ? { ...field, flag: `${command.split(' ')[0]}-${field.flag}` } : field;
}

/** The words of the field, with the names of flags in place of members of the request. */
function inFlags(field: EndpointField, fields: readonly EndpointField[]): string {
  const named = field.meaning
    .replaceAll(/,? in (?:unix )?milliseconds\b/g, '')
    .replaceAll('null or `[]`', 'null')
    .replaceAll('`[]`', `--clear ${field.flag}`)
    .replaceAll(/`([^`]+)`/g, (_, word: string) =>
      field.choices?.includes(word) ? userWord(word) : nameIn(word, fields),
    )
    .replaceAll(/\bnull(?= |:|,)/g, `--clear ${field.flag}`);
  const words = field.kind === 'switch' ? switchWords(field, named) : named;
  return withoutTwins(field.kind === 'duration' ? durationWords(words) : words).trim();
}

function switchWords({ flag, off }: EndpointField, meaning: string): string {
  const named = meaning
    .replaceAll(/\btrue(?=:)/g, `--${flag}`)
    .replaceAll(/\bfalse(?=:)/g, `--${off ?? `no-${flag}`}`)
    .replaceAll(/\bfalse(?= when absent)/g, off === undefined ? 'false' : `--${off}`)
    .replaceAll(/\btrue(?= when absent)/g, `--${flag}`)
    .replace(new RegExp(`^--${flag}: `), '');
  const words = off === undefined ? named.replace(/ false when absent:?[^.]*\.?/, '') : named;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Milliseconds as people write them: `2592000000 (30 days)` is `30 days`. */
function durationWords(meaning: string): string {
  return meaning
    .replaceAll(/\b\d{4,} \(([^)]*)\)/g, '$1')
    .replaceAll(/\b\d{4,}\b/g, (number) => showDuration(Number(number)));
}

/** Two members of one flag are named once. */
function withoutTwins(text: string): string {
  return text
    .replaceAll(/(?<![\w-])(--[a-z-]+|[A-Z]{2,})(?:,| and| or) \1(?![\w-])/g, '$1')
    .replaceAll(/one of (--[a-z-]+), (--[a-z-]+)(?=\.)/g, 'one of $1 and $2')
    .replaceAll(/ ?Give (?:either|one of) (?:--[a-z-]+|[A-Z]+)\./g, '');
}

/** A field of another record, such as `ipAllowlist`, is an ip allowlist. Other text, such as a right, stays. */
function inProse(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z]+)*$/.test(name) ? inSentence(name) : name;
}

export function nameIn(word: string, fields: readonly EndpointField[]): string {
  const found = fields.find(({ member, byId }) => member === word || byId?.member === word);
  if (found === undefined) return commandNamed(word) ?? inProse(word);
  return found.operand?.replaceAll(/[[\]]/g, '') ?? `--${found.flag}`;
}
