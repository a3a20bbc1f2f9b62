import { MAX_DATE_MS } from '../../core/statement.ts';

/**
 * Characters that change a terminal instead of being shown: control characters (C0, DEL, C1: cursor, colours, titles), line
 * separators, and marks that change the direction of text.
 */
// oxlint-disable-next-line no-control-regex -- these are the characters that must not get through
const UNSHOWABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Makes text from outside, such as a name, safe to show. */
export function visible(text: string): string {
  return text.replaceAll(UNSHOWABLE, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** One line of JSON. Characters that JSON allows but that change a terminal are escaped too. */
export function jsonLine(value: unknown): string {
  return `${visible(JSON.stringify(value))}\n`;
}

/** One record: a line for each field. Absent fields are left out. */
export function record(fields: readonly (readonly [string, string | undefined])[]): string {
  const present = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return aligned(present);
}

/** Several records: a heading, and a line for each record. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  return aligned([heading, ...rows.map((row) => row.map((cell) => (cell === '' ? '-' : cell)))]);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(visible));
  const widths = (shown[0] ?? []).map((_, column) =>
    Math.max(...shown.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const lines = shown.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - Bun.stringWidth(cell)));
}

export function showTime(unixMs: number): string {
  if (unixMs > MAX_DATE_MS) return String(unixMs);
  return new Date(unixMs)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/**
 * How the user can call this program again, from the folder where it was started. npx takes a program that is not installed from the registry,
 * where anybody may have given it this name: so it is advised only to whoever has done that, and else without its download.
 */
export function programName(environment: Readonly<Record<string, string | undefined>>): string {
  const event = environment['npm_lifecycle_event'];
  if (event === undefined) return 'keystile';
  if (environment['npm_package_name'] === 'keystile') return 'npm run -s keystile --';
  return event === 'npx' ? 'npx keystile' : 'npx --no keystile';
}
