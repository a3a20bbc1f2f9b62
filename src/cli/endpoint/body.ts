import { readFileSync } from 'node:fs';

import { type CliError, failed, misused } from '../cliError.ts';
import type { Endpoint, EndpointField } from './endpoint.ts';
import { type Flags, parseObject, parseTimeOrSpan, SPAN_WORDS } from '../flags.ts';
import { duration, type Kind } from '../../config/kinds.ts';
import { MAX_COUNT, MAX_WINDOW_MS, MIN_WINDOW_MS } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { idPattern } from '../../core/ids.ts';
import { nearestName } from '../../basics/nearestName.ts';
import { FORMER_FLAGS, userWord } from '../words.ts';

/** What one value of a flag or an argument means in the request. */
function parseValue(field: EndpointField, text: string): unknown {
  return PARSERS[field.kind](field, text);
}

type Parser = (field: EndpointField, text: string) => unknown;

const PARSERS: Readonly<Record<EndpointField['kind'], Parser>> = {
  text: (_, text) => text,
  secret: (_, text) => text,
  switch: (_, text) => text === 'true',
  count: parseCount,
  choice: parseChoice,
  duration: (field, text) => parsed(field, text, duration(field.min ?? 0, field.max ?? MAX_COUNT)),
  time(field, text) {
    const unixMs = parseTimeOrSpan(field.member, text);
    if (unixMs === null) throw wrong(field, SPAN_WORDS, text);
    return unixMs;
  },
  json: parseJson,
  jsonOrText: (field, text) => (isJson(text) ? parseJson(field, text) : text),
  reference: (field, text) => (isJson(text) ? parseJson(field, text) : toReference(text)),
  rate: parseRate,
  namedRate: parseRate,
  refill: parseRefill,
};

export function nameOf({ flag, operand }: EndpointField): string {
  return operand?.replaceAll(/[[\]]/g, '') ?? `--${flag}`;
}

function wrong(field: EndpointField, expected: string, text: string): CliError {
  // Keys to import hold their secrets.
  const shown = field.member === 'keys' && field.kind === 'json' ? 'other text (not shown)' : repeatable(text);
  return misused(`${nameOf(field)} must be ${expected}, got ${shown}.`);
}

function parsed<T>(field: EndpointField, text: string, kind: Kind<T>): T {
  const outcome = kind.parse(text);
  if ('problem' in outcome) throw misused(`${nameOf(field)} ${outcome.problem}, got ${repeatable(text)}.`);
  return outcome.value;
}

function parseCount(field: EndpointField, text: string): number {
  const { min = 0, max = MAX_COUNT } = field;
  const number = /^-?\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (number >= min && number <= max) return number;
  throw wrong(field, `a whole number from ${min} to ${max}`, text);
}

function parseChoice(field: EndpointField, text: string): string {
  const { choices = [] } = field;
  const found = choices.find((choice) => userWord(choice) === text);
  if (found !== undefined) return found;
  const hint = choices.includes(text) ? ` Did you mean ${userWord(text)}?` : '';
  throw misused(`${nameOf(field)} must be one of ${choices.map(userWord).join(', ')}, got ${repeatable(text)}.${hint}`);
}

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{');
}

function parseJson(field: EndpointField, text: string): object {
  const outcome = parseObject(text);
  if ('problem' in outcome) throw wrong(field, outcome.problem, text);
  return outcome.value;
}

const REFERENCE_IDS = [idPattern('perm'), idPattern('role')].map((pattern) => new RegExp(pattern));

function toReference(text: string): object {
  return REFERENCE_IDS.some((pattern) => pattern.test(text)) ? { id: text } : { name: text };
}

const RATE = /^(?:(.*)=)?(\d{1,16})\/(\w+)(?:,(local|strict))?$/s;
const RATE_WORDS = 'a limit such as 10/s or 100/5m,strict, or a JSON object';
const NAMED_RATE_WORDS = 'a name and a limit such as requests=10/s or requests=100/5m,strict, or a JSON object';
const WINDOW = duration(MIN_WINDOW_MS, MAX_WINDOW_MS);

/** `10/s`, or `requests=100/5m,strict` for a limit with a name. */
function parseRate(field: EndpointField, text: string): object {
  if (isJson(text)) return parseJson(field, text);
  const [, name, limit, window, mode] = RATE.exec(text) ?? [];
  const isNamed = field.kind === 'namedRate';
  if (limit === undefined || window === undefined || (name !== undefined) !== isNamed)
    throw wrong(field, isNamed ? NAMED_RATE_WORDS : RATE_WORDS, text);
  return {
    ...(name === undefined ? {} : { name }),
    limit: Number(limit),
    duration: parseWindow(field, window, text),
    ...(mode === undefined ? {} : { async: mode === 'local' }),
  };
}

/** The limit and the window of `10/s`. Null: the text is only a number. */
function splitRate(field: EndpointField, text: string): { limit: string; windowMs: number } | null {
  const at = text.indexOf('/');
  return at === -1 ? null : { limit: text.slice(0, at), windowMs: parseWindow(field, text.slice(at + 1), text) };
}

/** A unit that is written out, with how many of it: `5 minutes`, `sec`. */
const LONG_UNIT = /^(\d{0,6})(sec|second|min|minute|hr|hour|day)s?$/i;

/** `s` is a second, and `5m` five minutes. */
function parseWindow(field: EndpointField, window: string, text: string): number {
  const outcome = WINDOW.parse(/^\d/.test(window) ? window : `1${window}`);
  if ('value' in outcome) return outcome.value;
  const [, times, unit = ''] = LONG_UNIT.exec(window) ?? [];
  const near = times === undefined ? '' : ` Did you mean /${times}${unit.charAt(0).toLowerCase()}?`;
  throw misused(`The window of ${nameOf(field)} ${outcome.problem}, got ${repeatable(text)}.${near}`);
}

const REFILL_WORDS =
  'an interval and an amount such as daily:100 or monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000, or a JSON object';

/** What can stand behind the amount of a refill, and the member that it sets. */
const REFILL_PARTS: Readonly<Record<string, { readonly member: string; readonly isNumber?: true }>> = {
  day: { member: 'refillDay', isNumber: true },
  weekday: { member: 'refillWeekday', isNumber: true },
  timezone: { member: 'timezone' },
  mode: { member: 'mode' },
  max: { member: 'max', isNumber: true },
};

/** `daily:100`, or `monthly:1000,day=15` with what else a refill has. */
function parseRefill(field: EndpointField, text: string): object {
  if (isJson(text)) return parseJson(field, text);
  const [rule = '', ...parts] = text.split(',');
  const [, interval, amount] = /^(hourly|daily|weekly|monthly):(\d{1,15})$/.exec(rule) ?? [];
  if (interval === undefined) throw wrong(field, REFILL_WORDS, text);
  const refill: Record<string, unknown> = { interval, amount: Number(amount) };
  for (const part of parts) {
    const [name = '', value = ''] = part.split(/=(.*)/s);
    const { member, isNumber } = (Object.hasOwn(REFILL_PARTS, name) ? REFILL_PARTS[name] : undefined) ?? {};
    if (member === undefined || value === '' || (isNumber && !/^\d{1,15}$/.test(value)))
      throw misused(`${nameOf(field)} cannot be read at ${repeatable(part)}. It must be ${REFILL_WORDS}.`);
    if (member in refill) throw misused(`${nameOf(field)} has ${name} twice. Give it once.`);
    refill[member] = isNumber ? Number(value) : value;
  }
  return refill;
}

/** `@FILE` in place of JSON reads it from a file: one object, or for a list one object on each line. */
function withFile(field: EndpointField, text: string): readonly string[] {
  if (field.kind !== 'json' || !text.startsWith('@')) return [text];
  const content = readText(field, text.slice(1));
  return field.isList === true ? content.split('\n').filter((line) => line.trim() !== '') : [content];
}

function readText(field: EndpointField, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as { code?: string };
    throw failed(`The file ${path} of ${nameOf(field)} cannot be read (${code}).`);
  }
}

type Body = Record<string, unknown>;

interface Given {
  readonly flags: Flags;
  readonly operands: readonly string[];
  /** The secret of a key, when the endpoint needs one. */
  readonly secret?: string;
}

/** The request that a command line asks for. */
export function toBody(endpoint: Endpoint, given: Given): Body {
  return nested(flatBody(endpoint, given));
}

/** `remaining.cost` is a field of an object. */
function nested(body: Body): Body {
  const whole: Body = {};
  for (const [member, value] of Object.entries(body)) {
    const [name = '', inner] = member.split('.');
    whole[name] = inner === undefined ? value : { [inner]: value };
  }
  return whole;
}

function flatBody(endpoint: Endpoint, given: Given): Body {
  const body: Body = {};
  for (const field of endpoint.fields) Object.assign(body, membersOf(field, given));
  Object.assign(body, cleared(endpoint, given.flags, body));
  for (const field of endpoint.fields) requireField(endpoint, field, body);
  if (endpoint.command.endsWith(' update')) requireChange(endpoint, body);
  return body;
}

function membersOf(field: EndpointField, given: Given): Body {
  if (field.kind === 'switch') return switchMember(field, given.flags);
  const texts = textsOf(field, given).flatMap((text) => withFile(field, text));
  const [text] = texts;
  if (text === undefined) return {};
  if (field.window !== undefined) return windowMembers(field, text, given.flags);
  const { byId, member } = field;
  if (byId !== undefined && new RegExp(byId.pattern).test(text)) return { [byId.member]: text };
  const values = texts.map((each) => parseValue(field, each));
  return { [member]: field.isList === true ? values : values[0] };
}

function textsOf(field: EndpointField, { flags, operands, secret }: Given): readonly string[] {
  if (field.kind === 'secret') return secret === undefined ? [] : [secret];
  return field.operand === undefined ? flags.list(field.flag) : operands.slice(0, 1);
}

function switchMember({ member, flag, off }: EndpointField, flags: Flags): Body {
  const isOff = off !== undefined && flags.has(off);
  if (isOff && flags.has(flag)) throw misused(`--${flag} and --${off} exclude each other. Give only one of them.`);
  return isOff ? { [member]: false } : flags.has(flag) ? { [member]: true } : {};
}

/** `--limit 10/s` is `--limit 10 --duration 1s`. */
function windowMembers(field: EndpointField, text: string, flags: Flags): Body {
  const split = splitRate(field, text);
  if (split === null) return { [field.member]: parseValue(field, text) };
  if (field.window !== undefined && flags.has(field.window))
    throw misused(`--${field.flag} ${text} already says the window. Leave out --${field.window}.`);
  return { [field.member]: parseValue(field, split.limit), duration: split.windowMs };
}

function cleared({ fields }: Endpoint, flags: Flags, body: Body): Body {
  const clearable = fields.filter(isClearable);
  if (clearable.length === 0) return {};
  const words = clearable.map(({ flag }) => flag);
  const entries = flags.list('clear').map((word) => {
    const field = clearable.find(({ flag }) => flag === word);
    if (field === undefined) {
      const near = words.find((each) => each === FORMER_FLAGS.get(word)) ?? nearestName(word, words);
      const hint = near === null ? '' : ` Did you mean ${near}?`;
      throw misused(`--clear must be one of ${words.join(', ')}, got ${repeatable(word)}.${hint}`);
    }
    if (isIn(body, field))
      throw misused(`--clear ${word} and ${nameOf(field)} exclude each other. Give only one of them.`);
    return [field.member, field.isEmptyable === true ? [] : null] as const;
  });
  return Object.fromEntries(entries);
}

function isIn(body: Body, { member, byId }: EndpointField): boolean {
  return member in body || (byId !== undefined && byId.member in body);
}

export function isClearable({ isNullable, isEmptyable }: EndpointField): boolean {
  return isNullable === true || isEmptyable === true;
}

function requireField({ command }: Endpoint, field: EndpointField, body: Body): void {
  if (field.isRequired !== true || isIn(body, field)) return;
  const value = valueName(field);
  const flag = field.operand === undefined ? `${nameOf(field)}${value === null ? '' : ` ${value}`}` : nameOf(field);
  const clear = isClearable(field) ? `, or --clear ${field.flag}` : '';
  throw misused(`${command} needs ${flag}${clear}. See keystile ${command} --help.`);
}

function requireChange({ command, fields }: Endpoint, body: Body): void {
  const isNaming = ({ operand }: EndpointField): boolean => operand !== undefined;
  if (fields.some((field) => !isNaming(field) && isIn(body, field))) return;
  throw misused(`${command} needs at least one flag that says what to change. See keystile ${command} --help.`);
}

const VALUE_NAMES: Readonly<Record<EndpointField['kind'], string | null>> = {
  text: 'TEXT',
  count: 'N',
  duration: 'DURATION',
  time: 'TIME',
  choice: null,
  switch: null,
  json: 'JSON or @FILE',
  jsonOrText: 'JSON',
  reference: 'NAME',
  rate: 'N/TIME[,local|strict]',
  namedRate: 'NAME=N/TIME[,local|strict]',
  refill: 'INTERVAL:N[,day=N...]',
  secret: 'KEY',
};

/** The name of the value in the help. Null: the flag is a switch. */
export function valueName(field: EndpointField): string | null {
  if (field.kind === 'choice')
    return (field.choices ?? []).length > 6 ? 'WORD' : (field.choices ?? []).map(userWord).join('|');
  if (field.kind === 'text' && (field.byId !== undefined || field.member.endsWith('Id'))) return 'ID';
  return field.window === undefined ? VALUE_NAMES[field.kind] : 'N or N/TIME';
}
