import { showDuration } from '../../config/kinds.ts';
import { record, showTime, table, visible } from '../output/print.ts';
import { inWords, userWord } from '../words.ts';
import type { Endpoint, EndpointAnswer } from './endpoint.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The answer of an endpoint for people: a table of records, one record, or what was done. */
export function answerText(endpoint: Endpoint, answer: object, operand: string): string {
  const { list } = endpoint.answer;
  if (list !== undefined) return listText(endpoint, answer, list);
  const fields = Object.entries(answer as Fields);
  return fields.length === 0 ? doneText(endpoint.command, operand) : recordText(endpoint.answer, answer as Fields);
}

export function recordsOf({ answer: { list } }: Endpoint, answer: object): readonly Fields[] {
  if (list === undefined) return [];
  return (list === null ? answer : (answer as Fields)[list]) as readonly Fields[];
}

function listText(endpoint: Endpoint, answer: object, list: string | null): string {
  const records = recordsOf(endpoint, answer);
  const { columns: all = [], columnsIfAny = [] } = endpoint.answer;
  const columns = all.filter(
    (name) => !columnsIfAny.includes(name) || records.some((each) => valueAt(each, name) !== undefined),
  );
  const rows = records.map((each) => columns.map((name) => shown(endpoint.answer, name, valueAt(each, name))));
  const { total, cursor } = answer as { total?: unknown; cursor?: unknown };
  const count = typeof total === 'number' && list !== null ? `${records.length} of ${total} ${userWord(list)}. ` : '';
  const more = typeof cursor === 'string' ? `Next page: --cursor ${visible(cursor)}. All pages: --all.` : '';
  const end = `${count}${more}`.trim();
  const heading = columns.map((name) => labelOf(endpoint.answer, name).toUpperCase());
  return `${table(heading, rows)}${end === '' ? '' : `${end}\n`}`;
}

function recordText(answer: EndpointAnswer, fields: Fields): string {
  const present = { ...fields, ...missing(answer, fields) };
  return record(membersOf(present).flatMap(([name, value]) => linesOf(answer, name, value)));
}

/** What an answer repeats for older programs. */
const REPEATED = new Set(['refillRate', 'refillInterval', 'ownerId']);

/** What remains of a limit, or of a counter that a check took from, is no balance of credits: it is what is left. */
function membersOf(fields: Fields): [name: string, value: unknown][] {
  const isCounter = 'limit' in fields || 'taken' in fields;
  const members = Object.entries(fields).filter(([name]) => !REPEATED.has(name));
  return members.map(([name, value]) => [isCounter && name === 'remaining' ? 'left' : name, value]);
}

function missing({ absent = {} }: EndpointAnswer, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(absent).filter(([name]) => fields[name] === undefined));
}

/** A list of objects has a line for each. */
function linesOf(answer: EndpointAnswer, name: string, value: unknown): (readonly [string, string])[] {
  const lines = Array.isArray(value) && value.some(isObject) ? value : [value];
  return lines.map((each) => [labelOf(answer, name), shown(answer, name, each)]);
}

function valueAt(fields: Fields, name: string): unknown {
  const [first = '', inner] = name.split('.');
  const value = fields[first];
  return inner === undefined ? value : isObject(value) ? value[inner] : undefined;
}

function shown(answer: EndpointAnswer, name: string, value: unknown): string {
  if (value === undefined || value === null) return answer.absent?.[name] ?? '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && answer.times.includes(name)) return showTime(value);
  if (typeof value === 'number' && answer.durations.includes(name)) return showDuration(value);
  if (Array.isArray(value)) {
    const words = value.map((each) => (isObject(each) ? objectText(answer, name, each) : String(each)));
    return words.length === 0 ? '-' : words.join(value.some(isObject) ? '; ' : ', ');
  }
  if (isObject(value)) return objectText(answer, name, value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What each kind of object says in words, in the order in which they are tried. */
const OBJECT_WORDS: readonly ((answer: EndpointAnswer, value: Fields) => string | null)[] = [
  limitText,
  refillText,
  checkText,
  planMoveText,
  (_, value) => ownerText(value),
];

/** An object of the user's own is JSON, and of any other one each member is told. */
function objectText(answer: EndpointAnswer, name: string, value: Fields): string {
  if (answer.free.includes(name)) return Object.keys(value).length === 0 ? '-' : JSON.stringify(value);
  for (const words of OBJECT_WORDS) {
    const text = words(answer, value);
    if (text !== null) return text;
  }
  return membersText(answer, value);
}

function membersText(answer: EndpointAnswer, value: Fields): string {
  const members = membersOf(value).filter(([, member]) => member !== undefined && member !== null);
  return members.map(([name, member]) => `${labelOf(answer, name)} ${shown(answer, name, member)}`).join(', ');
}

/** What is told of a limit only where it is true. */
const USUALLY_FALSE = new Set(['exceeded', 'notify', 'shared']);

/** `requests: 7 left of 10 in 1s, strict, reset 2030-01-01 00:00:00 UTC`. */
function limitText(answer: EndpointAnswer, value: Fields): string | null {
  const { name, limit, remaining, duration, async, autoApply, ...rest } = value;
  if (typeof limit !== 'number' || (typeof duration !== 'number' && typeof remaining !== 'number')) return null;
  const left = typeof remaining === 'number' ? `${remaining} left of ` : '';
  const window = typeof duration === 'number' ? ` in ${showDuration(duration)}` : '';
  const more = Object.entries(rest).flatMap(([member, given]) => {
    if (REPEATED.has(member) || (given === false && USUALLY_FALSE.has(member))) return [];
    return given === true ? [labelOf(answer, member)] : [`${labelOf(answer, member)} ${shown(answer, member, given)}`];
  });
  const mode = [...(async === false ? ['strict'] : []), ...(autoApply === false ? ['only where it is named'] : [])];
  const words = [`${left}${limit}${window}`, ...mode, ...more].join(', ');
  return typeof name === 'string' ? `${name}: ${words}` : words;
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** `monthly on day 15 to 1000 (UTC), next refill at 2030-01-15 00:00:00 UTC`. */
function refillText(answer: EndpointAnswer, value: Fields): string | null {
  const { interval, amount, refillDay, refillWeekday, timezone, mode, max, ...times } = value;
  if (typeof interval !== 'string' || typeof amount !== 'number') return null;
  const weekday = typeof refillWeekday === 'number' ? ` on ${WEEKDAYS[refillWeekday - 1]}` : '';
  const day = typeof refillDay === 'number' ? ` on day ${refillDay}` : weekday;
  const ceiling = typeof max === 'number' ? ` up to ${max}` : '';
  const what = mode === 'add' ? `adds ${amount}${ceiling}` : `to ${amount}`;
  const zone = typeof timezone === 'string' ? ` (${timezone})` : '';
  const more = membersText(answer, times);
  return `${interval}${day} ${what}${zone}${more === '' ? '' : `, ${more}`}`;
}

/** What one check of a verification found. */
function checkText(answer: EndpointAnswer, { check, result, text, ...more }: Fields): string | null {
  if (typeof check !== 'string' || typeof text !== 'string') return null;
  const counters = membersText(answer, more);
  return `${check}: ${String(result)}. ${text}${counters === '' ? '' : ` (${counters})`}`;
}

/** `to plan_... at 2030-01-01 00:00:00 UTC, balance keep`; without a plan it leaves its own. */
function planMoveText(answer: EndpointAnswer, { planId, at, ...more }: Fields): string | null {
  if (planId === undefined || typeof at !== 'number') return null;
  const where = typeof planId === 'string' ? `to ${planId}` : 'leaves its plan';
  return `${where} at ${shown(answer, 'at', at)}, ${membersText(answer, more)}`;
}

/** The owner of a record by your own id. */
function ownerText({ id, externalId }: Fields): string | null {
  if (typeof id !== 'string' || typeof externalId !== 'string') return null;
  return externalId === '' ? id : externalId;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `overlapMs` is `overlap`, and `data.keyId` is `key id`. */
function labelOf({ labels = {} }: EndpointAnswer, name: string): string {
  const last = labels[name] ?? name.split('.').at(-1) ?? name;
  return inWords(last.replace(/Ms$/, ''));
}

const DONE: Readonly<Record<string, string>> = {
  delete: 'Deleted',
  end: 'Ended',
  enqueue: 'Queued',
  redeliver: 'Sent again:',
  remove: 'Changed',
  restore: 'Restored',
  update: 'Updated',
};

function doneText(command: string, operand: string): string {
  const verb = command.split(' ')[1]?.split('-')[0] ?? '';
  return operand === '' ? 'Done.\n' : `${DONE[verb] ?? 'Done:'} ${visible(operand)}.\n`;
}
