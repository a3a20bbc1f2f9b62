import { showDuration } from '../../config/kinds.ts';
import { record, showTime, table, visible } from '../output/show.ts';
import type { Endpoint } from './endpoint.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The answer of an endpoint for people: a table of records, one record, or what was done. */
export function answerText(endpoint: Endpoint, answer: object, operand: string): string {
  const { list } = endpoint.answer;
  if (list !== undefined) return listText(endpoint, answer, list);
  const fields = Object.entries(answer as Fields);
  return fields.length === 0 ? doneText(endpoint.command, operand) : recordText(endpoint, answer as Fields);
}

export function recordsOf({ answer: { list } }: Endpoint, answer: object): readonly Fields[] {
  if (list === undefined) return [];
  return (list === null ? answer : (answer as Fields)[list]) as readonly Fields[];
}

function listText(endpoint: Endpoint, answer: object, list: string | null): string {
  const records = recordsOf(endpoint, answer);
  const { groups = [], columns: others = [] } = endpoint.answer;
  const columns = [...groups.filter((name) => records.some((each) => each[name] !== undefined)), ...others];
  const rows = records.map((each) => columns.map((column) => shown(endpoint, column, each[column])));
  const { total, cursor } = answer as { total?: unknown; cursor?: unknown };
  const count = typeof total === 'number' && list !== null ? `${records.length} of ${total} ${list}. ` : '';
  const more = typeof cursor === 'string' ? `Next page: --cursor ${visible(cursor)}. All pages: --all.` : '';
  const end = `${count}${more}`.trim();
  const heading = columns.map((column) => labelOf(column).toUpperCase());
  return `${table(heading, rows)}${end === '' ? '' : `${end}\n`}`;
}

function recordText(endpoint: Endpoint, fields: Fields): string {
  return record(
    Object.entries(fields).flatMap(([name, value]): (readonly [string, string])[] => {
      const lines = Array.isArray(value) && value.some(isObject) ? value : [value];
      return lines.map((each) => [labelOf(name), shown(endpoint, name, each)]);
    }),
  );
}

function shown({ answer: { times, durations } }: Endpoint, name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && times.includes(name)) return showTime(value);
  if (typeof value === 'number' && durations.includes(name)) return showDuration(value);
  if (Array.isArray(value) && !value.some(isObject)) return value.length === 0 ? '-' : value.join(', ');
  if (isObject(value)) return objectText(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A rate limit in words, the owner of a row by your own id, other objects as JSON. */
function objectText(value: Fields): string {
  const { name, limit, remaining, duration, async, id, externalId, ...more } = value;
  if (typeof externalId === 'string' && typeof id === 'string' && Object.keys(more).length === 0)
    return externalId === '' ? id : externalId;
  if (typeof limit !== 'number' || typeof duration !== 'number') return JSON.stringify(value);
  const left = typeof remaining === 'number' ? `${remaining} left of ` : '';
  const words = `${left}${limit} in ${showDuration(duration)}${async === false ? ', strict' : ''}`;
  return typeof name === 'string' ? `${name}: ${words}` : words;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** `externalId` is `external id`. */
function labelOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
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
