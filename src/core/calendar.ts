/**
 * The calendar of refills. A boundary is the first instant of a local day. An epoch is the stretch from one boundary to the next.
 * Time zones come from `Intl`, because Temporal is missing on Node 20 and in some browsers.
 */

export interface Schedule {
  readonly interval: 'daily' | 'monthly';
  /** Monthly only: the day of the month, 1..31, at most the month's last day. null = the first. */
  readonly refillDay: number | null;
  /** IANA zone name. */
  readonly timezone: string;
}

/**
 * The stretch between two boundaries: startMs <= t < nextMs. `number` counts local days (daily) or local months
 * (monthly) since 1970-01-01 and only grows with time. It grows by two where a zone skips a whole day.
 */
export interface Epoch {
  readonly number: number;
  readonly startMs: number;
  readonly nextMs: number;
}

const MS_PER_DAY = 86_400_000;

/**
 * Since 1900 no zone has been further than this from UTC (-12 h to +14 h today), and no zone has changed its offset twice within
 * five days. So at most one change of offset lies within this distance of a midnight.
 */
const WIDEST_OFFSET_MS = 16 * 3_600_000;

const MAX_FORMATS = 128;
const MAX_ZONES = 1_024;
const MAX_NAME_LENGTH = 64;

export function epochAt(schedule: Schedule, nowMs: number): Epoch {
  const day = localDayAt(schedule.timezone, nowMs);
  const number = schedule.interval === 'daily' ? day : refillMonthAt(schedule, day);
  return { number, startMs: boundaryMs(schedule, number), nextMs: boundaryMs(schedule, number + 1) };
}

function boundaryMs(schedule: Schedule, number: number): number {
  const day = schedule.interval === 'daily' ? number : refillDayOf(schedule, number);
  return firstInstantMs(schedule.timezone, day);
}

/** The last month whose refill day is not after `day`. */
function refillMonthAt(schedule: Schedule, day: number): number {
  const date = new Date(day * MS_PER_DAY);
  const month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
  return refillDayOf(schedule, month) <= day ? month : month - 1;
}

function refillDayOf(schedule: Schedule, month: number): number {
  return Math.min(firstDayOf(month) + (schedule.refillDay ?? 1), firstDayOf(month + 1)) - 1;
}

/** The first day of a month that is counted from 1970-01. Date.UTC turns months beyond December into years. */
function firstDayOf(month: number): number {
  return Date.UTC(1970, month, 1) / MS_PER_DAY;
}

/** The largest day whose first instant has passed. */
function localDayAt(timezone: string, nowMs: number): number {
  let day = Math.floor((nowMs + offsetMsAt(timezone, nowMs)) / MS_PER_DAY);
  // When local clocks are set back over midnight, they show the old day again although the new one has begun.
  while (firstInstantMs(timezone, day + 1) <= nowMs) day += 1;
  return day;
}

/** The earliest instant at which the local clock shows 00:00 of the day, or has jumped past it. */
function firstInstantMs(timezone: string, day: number): number {
  const midnightMs = day * MS_PER_DAY;
  const before = offsetMsAt(timezone, midnightMs - WIDEST_OFFSET_MS);
  // Where a day has two midnights, the one under the old offset comes first.
  if (offsetMsAt(timezone, midnightMs - before) === before) return midnightMs - before;
  const after = offsetMsAt(timezone, midnightMs + WIDEST_OFFSET_MS);
  if (offsetMsAt(timezone, midnightMs - after) === after) return midnightMs - after;

  // Neither offset gives a midnight: the clock jumps over it. Find the jump.
  let stillBeforeMs = midnightMs - after;
  let jumpMs = midnightMs - before;
  while (jumpMs - stillBeforeMs > 1) {
    const middleMs = Math.floor((stillBeforeMs + jumpMs) / 2);
    if (offsetMsAt(timezone, middleMs) === before) stillBeforeMs = middleMs;
    else jumpMs = middleMs;
  }
  return jumpMs;
}

/** Local time minus UTC. */
function offsetMsAt(timezone: string, atMs: number): number {
  if (timezone === 'UTC') return 0;
  const wholeMs = Math.floor(atMs / 1_000) * 1_000;
  const local: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatOf(timezone).formatToParts(wholeMs)) local[type] = Number(value);
  const { year = NaN, month = NaN, day = NaN, hour = NaN, minute = NaN, second = NaN } = local;
  return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs;
}

/** Making a format costs 35 to 80 us, using one 2 to 5 us. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  dropOldest(formats, MAX_FORMATS);
  formats.set(timezone, format);
  return format;
}

/** Drops the oldest entries. Dropping one that is still in use costs one computation. */
function dropOldest(cache: Map<string, unknown>, maxEntries: number): void {
  for (const oldest of cache.keys()) {
    if (cache.size < maxEntries) return;
    cache.delete(oldest);
  }
}

const ZONE_NAME = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/;

/** The IANA names of three capitals. Node 20 also accepts names of ICU, such as AST for Anchorage and the SystemV names. */
const SHORT_NAMES = 'CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' ');

/** Names that were checked and exist. There are a few hundred, and checking one takes 50 us. */
const knownZones = new Set<string>();

/** Accepts exact IANA names; no offsets, no other spelling. Node 20 does not tell the spelling of old names: there, case is free. */
export function isTimeZone(name: string): boolean {
  if (knownZones.has(name)) return true;
  const isKnown = isZoneOfRuntime(name);
  if (isKnown) knownZones.add(name);
  return isKnown;
}

function isZoneOfRuntime(name: string): boolean {
  if (name.length > MAX_NAME_LENGTH || !ZONE_NAME.test(name) || name.startsWith('SystemV/')) return false;
  if (/^[A-Z]{3}$/.test(name) && !SHORT_NAMES.includes(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

/** Remembers the running epoch of each schedule, so that the hot path costs one Map lookup and two comparisons. */
export class Calendar {
  /** Per zone: slot 0 holds the daily epoch, slots 1..31 the monthly epochs by refill day. A lookup builds no key. */
  readonly #epochsByZone = new Map<string, (Epoch | undefined)[]>();

  epochAt(schedule: Schedule, nowMs: number): Epoch {
    const epochs = this.#epochsByZone.get(schedule.timezone) ?? this.#addZone(schedule.timezone);
    const slot = schedule.interval === 'daily' ? 0 : (schedule.refillDay ?? 1);
    const known = epochs[slot];
    // Both ends are compared, because a clock can be set back.
    if (known !== undefined && known.startMs <= nowMs && nowMs < known.nextMs) return known;
    const epoch = epochAt(schedule, nowMs);
    epochs[slot] = epoch;
    return epoch;
  }

  #addZone(timezone: string): (Epoch | undefined)[] {
    const epochs: (Epoch | undefined)[] = [];
    dropOldest(this.#epochsByZone, MAX_ZONES);
    this.#epochsByZone.set(timezone, epochs);
    return epochs;
  }
}
