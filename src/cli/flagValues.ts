import { count, duration, type Kind, type Parsed } from '../config/kinds.ts';
import { MAX_COUNT } from '../core/bounds.ts';
import { repeatable } from '../core/errors.ts';
import { wallClockMs } from '../system.ts';
import { misused } from './cliError.ts';
import type { Flags } from './flags.ts';

/** Parses the values of flags. An absent flag is undefined. The service checks all further bounds. */

export function countFlag(flags: Flags, name: string): number | undefined {
  return kindFlag(flags, name, count(0, MAX_COUNT));
}

export function kindFlag<T>(flags: Flags, name: string, kind: Kind<T>): T | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const outcome = kind.parse(text);
  if ('problem' in outcome) throw misused(`--${name} ${outcome.problem}, got ${repeatable(text)}.`);
  return outcome.value;
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

export const TIME_WORDS = 'unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z';
/** With a time span, from now on or back. */
export const SPAN_WORDS = `a time span such as 30d or 24h, ${TIME_WORDS}`;

export function timeFlag(flags: Flags, name: string): number | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const unixMs = parseTimeOrSpan(name, text);
  if (unixMs === null) throw misused(`--${name} must be ${SPAN_WORDS}, got ${repeatable(text)}.`);
  return unixMs;
}

const MAX_SPAN_MS = 100 * 366 * 86_400_000;
/** A number without a unit is a time. */
const SPAN = /[a-z]$/;

/** A time, or how far it is from now: ahead for what expires, else back. `name` is that of the flag or field. */
export function parseTimeOrSpan(name: string, text: string): number | null {
  const outcome = SPAN.test(text) ? duration(0, MAX_SPAN_MS).parse(text) : null;
  if (outcome === null || !('value' in outcome)) return parseTime(text);
  const nowMs = wallClockMs();
  return name.startsWith('expires') ? nowMs + outcome.value : Math.max(0, nowMs - outcome.value);
}

/** Parses unix milliseconds or a date. A time of day needs a zone, because two machines would read it differently. */
export function parseTime(text: string): number | null {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  const [, year, month, day] = DATE.exec(text) ?? [];
  const unixMs = day === undefined ? NaN : Date.parse(text);
  // Some parsers read 30 February as 2 March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return Number.isNaN(unixMs) || !isDay ? null : unixMs;
}

/** Parses a JSON object. Refuses a number that is too large: JSON.stringify would send it as null. */
export function parseObject(text: string): Parsed<object> {
  let isInfinite = false;
  const note = (_: string, value: unknown): unknown => {
    isInfinite ||= typeof value === 'number' && !Number.isFinite(value);
    return value;
  };
  let value: unknown = null;
  try {
    value = JSON.parse(text, note) as unknown;
  } catch {
    // Reported below, together with JSON that is not an object.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isInfinite) return { value };
  const numbers = isInfinite ? ' without numbers above 1.8e308' : '';
  return { problem: `a JSON object such as '{"plan":"free"}'${numbers}` };
}
