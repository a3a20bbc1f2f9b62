import { DAY_MS } from '../../core/statement.ts';
import { table } from './show.ts';

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

/** What one key or identity has spent. */
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
