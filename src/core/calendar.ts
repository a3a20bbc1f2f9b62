/**
 * The calendar of refills. A boundary is the first instant of a local day, or an instant at which the local clock shows a full hour. An
 * epoch is the stretch from one boundary to the next. Time zones come from `Intl`, because Temporal is missing on Node 20 and in some
 * browsers.
 */

export const REFILL_INTERVALS = ['hourly', 'daily', 'weekly', 'monthly'] as const;
export type RefillInterval = (typeof REFILL_INTERVALS)[number];

export interface Schedule {
  readonly interval: RefillInterval;
  /** Monthly only: the day of the month, 1..31, at most the month's last day. null = the first. */
  readonly refillDay: number | null;
  /** Weekly only: the day of the week, 1 (Monday) to 7 (Sunday). null = Monday. */
  readonly refillWeekday: number | null;
  /** IANA zone name. */
  readonly timezone: string;
}

/**
 * The stretch between two boundaries: startMs <= t < nextMs. `number` counts local hours, days, weeks or months and only grows with
 * time. It grows by two where a zone skips a whole day, and where its clock is set back by a part of an hour.
 */
export interface Epoch {
  readonly number: number;
  readonly startMs: number;
  readonly nextMs: number;
}

const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 86_400_000;
/** 1970-01-01 was a Thursday: so many days after a Monday. */
const FIRST_WEEKDAY = 3;

/**
 * Since 1900 no zone has been further than this from UTC (-12 h to +14 h today), and no zone has changed its offset twice within
 * five days. So at most one change of offset lies within this distance of a midnight.
 */
const WIDEST_OFFSET_MS = 16 * MS_PER_HOUR;

const MAX_FORMATS = 128;
const MAX_SCHEDULES = 1_024;
const MAX_NAME_LENGTH = 64;

export function epochAt(schedule: Schedule, nowMs: number): Epoch {
  if (schedule.interval === 'hourly') return hourAt(schedule.timezone, nowMs);
  const number = numberOf(schedule, localDayAt(schedule.timezone, nowMs));
  const boundaryMs = (of: number): number => firstInstantMs(schedule.timezone, firstDay(schedule, of));
  return { number, startMs: boundaryMs(number), nextMs: boundaryMs(number + 1) };
}

/** The day, week or month of the schedule that a local day is in. */
function numberOf(schedule: Schedule, day: number): number {
  if (schedule.interval === 'daily') return day;
  return schedule.interval === 'weekly' ? Math.floor((day - weekShift(schedule)) / 7) : refillMonthAt(schedule, day);
}

function firstDay(schedule: Schedule, number: number): number {
  if (schedule.interval === 'daily') return number;
  return schedule.interval === 'weekly' ? number * 7 + weekShift(schedule) : refillDayOf(schedule, number);
}

/** The first day of week 0. */
function weekShift({ refillWeekday }: Schedule): number {
  return (refillWeekday ?? 1) - 1 - FIRST_WEEKDAY;
}

/** The epoch between two full hours of the local clock, whose offset from UTC may not be whole hours. */
function hourAt(timezone: string, nowMs: number): Epoch {
  const part = partOfHourMs(timezone, nowMs);
  let startMs = Math.floor((nowMs + part) / MS_PER_HOUR) * MS_PER_HOUR - part;
  let nextMs = startMs + MS_PER_HOUR;
  // A clock that is moved by half an hour shows the full hour earlier or later than the present offset says.
  if (partOfHourMs(timezone, startMs) !== part) startMs = lastHourBefore(timezone, changeMs(timezone, startMs, nowMs));
  if (partOfHourMs(timezone, nextMs) !== part) nextMs = firstHourFrom(timezone, changeMs(timezone, nowMs, nextMs));
  return { number: Math.round((startMs + partOfHourMs(timezone, startMs)) / MS_PER_HOUR), startMs, nextMs };
}

/** The last full hour before the clock was moved at `movedMs`. */
function lastHourBefore(timezone: string, movedMs: number): number {
  const part = partOfHourMs(timezone, movedMs - 1);
  return Math.floor((movedMs - 1 + part) / MS_PER_HOUR) * MS_PER_HOUR - part;
}

/** The first full hour since the clock was moved at `movedMs`. */
function firstHourFrom(timezone: string, movedMs: number): number {
  const part = partOfHourMs(timezone, movedMs);
  return Math.ceil((movedMs + part) / MS_PER_HOUR) * MS_PER_HOUR - part;
}

function partOfHourMs(timezone: string, atMs: number): number {
  const part = offsetMsAt(timezone, atMs) % MS_PER_HOUR;
  return part < 0 ? part + MS_PER_HOUR : part;
}

/** The instant between the two at which the zone changes its offset from UTC. */
function changeMs(timezone: string, beforeMs: number, afterMs: number): number {
  const before = offsetMsAt(timezone, beforeMs);
  let [stillBeforeMs, changedMs] = [beforeMs, afterMs];
  while (changedMs - stillBeforeMs > 1) {
    const middleMs = Math.floor((stillBeforeMs + changedMs) / 2);
    if (offsetMsAt(timezone, middleMs) === before) stillBeforeMs = middleMs;
    else changedMs = middleMs;
  }
  return changedMs;
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

  // Neither offset gives a midnight: the clock jumps over it.
  return changeMs(timezone, midnightMs - after, midnightMs - before);
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

/** The IANA names of three capital letters. Node 20 also accepts names of ICU, such as AST for Anchorage and the SystemV names. */
const SHORT_NAMES = 'CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' ');

/** Names that were checked and exist. There are a few hundred, and checking one takes 50 us. */
const knownZones = new Set<string>();

/** Accepts exact IANA names; no offsets, no other spelling. Node 20 accepts old names in upper and lower case. */
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

/** Remembers the running epoch of each schedule. */
export class Calendar {
  readonly #epochs = new Map<string, Epoch>();

  epochAt(schedule: Schedule, nowMs: number): Epoch {
    const { interval, refillDay, refillWeekday, timezone } = schedule;
    const name = `${interval} ${refillDay ?? refillWeekday ?? 1} ${timezone}`;
    const known = this.#epochs.get(name);
    // Both ends are compared, because a clock can be set back.
    if (known !== undefined && known.startMs <= nowMs && nowMs < known.nextMs) return known;
    const epoch = epochAt(schedule, nowMs);
    dropOldest(this.#epochs, MAX_SCHEDULES);
    this.#epochs.set(name, epoch);
    return epoch;
  }
}

/**
 * Fixed windows, aligned to 1970-01-01. A counter is stored with the instant at which its window ends, not with a window number:
 * a number would be wrong after a change of duration, and a clock that is set back must not open a window again.
 */
export function windowEnd(nowMs: number, durationMs: number): number {
  return (Math.floor(nowMs / durationMs) + 1) * durationMs;
}

/** How far another node's clock may be ahead. All nodes follow the clock of one database, within a round trip to it. */
export const AHEAD_MS = 1_000;

/** The limit allows `cost` more. A cost of 0 asks whether the limit is kept now. */
export function fits(count: number, cost: number, limit: number): boolean {
  return count + cost <= limit;
}
