import { type Ask, withService } from '../ask.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { countFlag, type Flags, timeFlag } from '../flags.ts';
import { jsonLine, table } from '../output/print.ts';
import { csvLine } from '../../basics/csv.ts';
import { idPattern } from '../../core/ids.ts';
import { DAY_MS } from '../../core/statement.ts';
import { STATEMENT_COLUMNS } from '../../core/statementRows.ts';
import { EXIT } from '../../serve/exit.ts';
import { wallClockMs } from '../../bunPlatform.ts';

interface Page {
  readonly rows: readonly UsageRow[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

interface Query {
  readonly per: 'day';
  readonly start: number;
  readonly end?: number;
  readonly [subject: string]: unknown;
}

const DEFAULT_SINCE_MS = 7 * DAY_MS;
const DEFAULT_TOP = 10;
const HOLDERS = ['customer', 'key', 'plan'] as const;
const CUSTOMER_ID = new RegExp(idPattern('id'));

export const usage: Command = {
  name: 'usage',
  endpoint: 'usage.getStatement',
  summary: 'Show what customers have spent: by day for one of them, or those who spent the most.',
  operands: [],
  flags: {
    customer: { value: 'ID', meaning: 'Show the credits of this customer, by day: your own id, or its id_...' },
    key: { value: 'ID', meaning: 'Show the credits of this key, by day.' },
    plan: { value: 'ID', meaning: 'Only customers and keys on this plan.' },
    top: { value: 'N', meaning: `How many of those who spent the most to show. ${DEFAULT_TOP} when absent.` },
    since: {
      value: 'TIME',
      meaning:
        'From this day on (UTC): a time span such as 7d, or a date such as 2030-12-31. When absent, 7d before --until, or 7d before now if --until is later.',
    },
    until: { value: 'TIME', meaning: 'Only days that begin before this time. Now when absent.' },
    csv: { value: null, meaning: 'Print all rows of the statements as CSV.' },
  },
  examples: [
    'keystile usage --customer user_1234 --since 30d',
    'keystile usage --top 3',
    'keystile usage --csv > usage.csv',
  ],
  flagNames: {
    identityId: '--customer',
    externalId: '--customer',
    keyId: '--key',
    planId: '--plan',
    start: '--since',
    end: '--until',
  },
  async run(call) {
    const { io, flags, isJson } = call;
    const nowMs = wallClockMs();
    const top = topOf(flags);
    if (flags.has('csv') && isJson) throw misused('Give --csv or --json, not both.');
    const end = timeFlag(flags, 'until');
    const start = timeFlag(flags, 'since') ?? Math.max(0, Math.min(end ?? nowMs, nowMs) - DEFAULT_SINCE_MS);
    if (start > nowMs) throw misused(`--since must be in the past, got "${flags.text('since')}".`);
    if (end !== undefined && end <= start)
      throw misused(`--until must be after --since, got "${flags.text('until')}".`);
    const query: Query = { per: 'day', start, ...(end === undefined ? {} : { end }), ...subjectOf(flags) };
    const untilMs = Math.min(nowMs, (end ?? Infinity) - 1);
    await withService(call, async (ask) => {
      if (isJson) io.out(jsonLine({ rows: await Array.fromAsync(rowsOf(ask, query)) }));
      else if (flags.has('csv')) await printCsv(ask, query, (text) => io.out(text));
      else if (top === null)
        io.out(dayChart(await Array.fromAsync(rowsOf(ask, query)), { start, untilMs, hasBars: io.showsSecrets }));
      else io.out(topChart(await usedBy(ask, query), { top, hasBars: io.showsSecrets }));
    });
    return EXIT.OK;
  },
};

/** null: one holder is shown, by day. */
function topOf(flags: Flags): number | null {
  const top = countFlag(flags, 'top');
  if (top === 0) throw misused('--top must be at least 1, got "0".');
  const isOne = flags.has('customer') || flags.has('key');
  if (!isOne) return top ?? DEFAULT_TOP;
  if (top !== undefined)
    throw misused(
      `--top is for many customers and keys. Leave out --top or --${flags.has('key') ? 'key' : 'customer'}.`,
    );
  return null;
}

function subjectOf(flags: Flags): object {
  const given = HOLDERS.filter((name) => flags.has(name));
  if (given.length > 1) throw misused(`Give only one of ${given.map((name) => `--${name}`).join(' and ')}.`);
  const [name] = given;
  if (name === undefined) return { all: true };
  const id = flags.text(name) ?? '';
  if (name === 'customer') return CUSTOMER_ID.test(id) ? { identityId: id } : { externalId: id };
  return name === 'key' ? { keyId: id } : { planId: id };
}

async function* rowsOf(ask: Ask, query: Query): AsyncGenerator<UsageRow> {
  let cursor: string | undefined;
  do {
    const page: Page = await ask<Page>('usage.getStatement', { ...query, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function printCsv(ask: Ask, query: Query, print: (text: string) => void): Promise<void> {
  print(csvLine(STATEMENT_COLUMNS));
  for await (const row of rowsOf(ask, query)) print(csvLine(STATEMENT_COLUMNS.map((name) => row[name] ?? '')));
}

/** The sums of each holder, in one pass over all rows. */
async function usedBy(ask: Ask, query: Query): Promise<readonly UsedBy[]> {
  const sums = new Map<string, UsedBy>();
  for await (const row of rowsOf(ask, query)) addUsed(sums, row);
  return [...sums.values()];
}

/** A row of `usage.getStatement`. */
export interface UsageRow {
  readonly keyId?: string;
  readonly identityId?: string;
  readonly externalId?: string;
  readonly start: number;
  readonly end?: number;
  readonly opening: number;
  readonly granted: number;
  readonly refilled: number;
  readonly adjusted: number;
  readonly spent: number;
  readonly expired: number;
  readonly closing: number;
  readonly held: number;
}

/** What one key or customer has spent. */
export interface UsedBy {
  readonly name: string;
  readonly spent: number;
}

/** The length of the longest bar. */
const WIDTH = 40;
/** More days than this are shown only where something happened. */
const MAX_IDLE_DAYS = 62;
const BLOCKS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/** What one holder has spent on each day, also on those without a row. */
export function dayChart(
  rows: readonly UsageRow[],
  { start, untilMs, hasBars }: { readonly start: number; readonly untilMs: number; readonly hasBars: boolean },
): string {
  const [first, last] = [start - (start % DAY_MS), untilMs - (untilMs % DAY_MS)];
  const byDay = new Map(rows.map((row) => [row.start, row]));
  const days = Array.from({ length: Math.round((last - first) / DAY_MS) + 1 }, (_, i) => first + i * DAY_MS);
  const shown = days.length <= MAX_IDLE_DAYS ? days : days.filter((day) => byDay.has(day));
  const spent = shown.map((day) => byDay.get(day)?.spent ?? 0);
  const cells = shown.map((day, i) => [new Date(day).toISOString().slice(0, 10), spent[i] ?? 0] as const);
  return `${charted(['DAY', 'SPENT'], cells, hasBars)}${sumLine(rows)}`;
}

function sumLine(rows: readonly UsageRow[]): string {
  const last = rows.at(-1);
  if (last === undefined) return 'Nothing happened to these credits in this time.\n';
  const names = ['spent', 'granted', 'refilled', 'adjusted', 'expired'] as const;
  const sums = names.map((name) => `${name} ${rows.reduce((sum, row) => sum + row[name], 0)}`);
  const held = last.held === 0 ? '' : `, of which reservations hold ${last.held}`;
  return `Sum: ${sums.join(', ')}. Balance: ${last.closing}${held}.\n`;
}

/** Those who spent the most, the most first. */
export function topChart(
  all: readonly UsedBy[],
  { top, hasBars }: { readonly top: number; readonly hasBars: boolean },
): string {
  const spenders = all.filter(({ spent }) => spent > 0).toSorted((a, b) => b.spent - a.spent);
  if (spenders.length === 0) return 'Nobody has spent credits in this time.\n';
  const cells = spenders.slice(0, top).map(({ name, spent }) => [name, spent] as const);
  const sum = all.reduce((total, { spent }) => total + spent, 0);
  return `${charted(['WHO', 'SPENT'], cells, hasBars)}Sum of all ${spenders.length}: spent ${sum}.\n`;
}

/** Adds a row to the sums of its holder. */
export function addUsed(sums: Map<string, UsedBy>, row: UsageRow): void {
  const id = row.keyId ?? row.identityId ?? '';
  const before = sums.get(id)?.spent ?? 0;
  sums.set(id, { name: row.externalId ?? id, spent: before + row.spent });
}

/** Bars are for people: other programs read the numbers. */
function charted(
  heading: readonly [string, string],
  cells: readonly (readonly [name: string, value: number])[],
  hasBars: boolean,
): string {
  const width = Math.max(heading[1].length, ...cells.map(([, value]) => String(value).length));
  const most = Math.max(1, ...cells.map(([, value]) => value));
  const rows = cells.map(([name, value]) => [
    name,
    String(value).padStart(width),
    ...(hasBars ? [bar(value / most)] : []),
  ]);
  return table([heading[0], heading[1].padStart(width), ...(hasBars ? [' '] : [])], rows);
}

/** In eighths of a character. A little is never nothing. */
function bar(share: number): string {
  const eighths = share === 0 ? 0 : Math.max(1, Math.round(share * WIDTH * 8));
  return `${'█'.repeat(Math.floor(eighths / 8))}${BLOCKS[eighths % 8] ?? ''}` || ' ';
}
