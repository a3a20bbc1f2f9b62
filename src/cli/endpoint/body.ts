import { repeatable } from '../../core/errors.ts';
import { nearestName } from '../../core/nearest.ts';
import { misused } from '../cliError.ts';
import type { Flags } from '../flags.ts';
import type { Endpoint, EndpointField } from './endpoint.ts';
import { nameOf, parseValue, splitRate } from './values.ts';
import { withFile } from './valueFile.ts';

type Body = Record<string, unknown>;

export interface Given {
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
      const near = nearestName(word, words);
      const hint = near === null ? '' : ` Did you mean ${near}?`;
      throw misused(`--clear must be one of ${words.join(', ')}, got ${repeatable(word)}.${hint}`);
    }
    if (field.member in body)
      throw misused(`--clear ${word} and ${nameOf(field)} exclude each other. Give only one of them.`);
    return [field.member, field.isEmptyable === true ? [] : null] as const;
  });
  return Object.fromEntries(entries);
}

export function isClearable({ isNullable, isEmptyable }: EndpointField): boolean {
  return isNullable === true || isEmptyable === true;
}

function requireField({ command }: Endpoint, field: EndpointField, body: Body): void {
  if (field.isRequired !== true || field.member in body) return;
  const value = valueName(field);
  const flag = field.operand === undefined ? `${nameOf(field)}${value === null ? '' : ` ${value}`}` : nameOf(field);
  const clear = isClearable(field) ? `, or --clear ${field.flag}` : '';
  throw misused(`${command} needs ${flag}${clear}. See keystile ${command} --help.`);
}

function requireChange({ command, fields }: Endpoint, body: Body): void {
  const isNaming = ({ operand }: EndpointField): boolean => operand !== undefined;
  if (fields.some((field) => !isNaming(field) && field.member in body)) return;
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
  if (field.kind === 'choice') return (field.choices ?? []).length > 6 ? 'WORD' : (field.choices ?? []).join('|');
  if (field.kind === 'text' && (field.byId !== undefined || field.member.endsWith('Id'))) return 'ID';
  return field.window === undefined ? VALUE_NAMES[field.kind] : 'N or N/TIME';
}
