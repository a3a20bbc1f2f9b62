import { AppError, notFound } from '../../core/errors.ts';
import { holdsRight, holdsRightSomewhere, idsWithRight } from '../../core/rights.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type Actor, requireSomewhere } from './change/requireRight.ts';
import { KeyReader } from './readKeys.ts';
import type { CountWriting, Retention } from '../analytics/writeCounts.ts';
import {
  type AnalyticsOrder,
  type AnalyticsQuery,
  type AnalyticsRow,
  type Span,
  SPAN_MS,
  startOfSpan,
} from '../../storage/port/analytics.ts';
import { type Storage, StorageOutcomeUnknown, StorageUnavailable } from '../../storage/port/storage.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import { addCredits } from '../../core/verificationCounts.ts';

export const TIME_GROUPS = ['minute', 'hour', 'day', 'month'] as const;
type TimeGroup = (typeof TIME_GROUPS)[number];

export const GROUPS = [...TIME_GROUPS, 'key', 'identity', 'tag', 'tags'] as const;
type GroupName = (typeof GROUPS)[number];

/** The largest number of rows that are read for one answer. */
const MAX_READ_ROWS = 100_000;
/** How long open pages share an answer: one about times, which shall move, and any other. */
const BY_TIME: Sharing = { leastMs: 2_000, mostMs: 10_000 };
const NOT_BY_TIME: Sharing = { leastMs: 30_000, mostMs: 120_000 };
const READING_DEEDS = ['api.read_analytics', 'api.read_api'] as const;

export interface VerificationsQuery extends Period {
  readonly apiId: string;
  readonly externalId: string | null;
  readonly keyIds: readonly string[] | null;
  readonly tags: readonly string[] | null;
  /** At most one of them is a minute, hour, day or month. */
  readonly groupBy: readonly GroupName[];
  readonly limit: number | null;
  /** null: by time when grouped by time, else the largest total first. */
  readonly order: AnalyticsOrder | null;
}

export type Subject = { readonly keyId: string } | { readonly ownerId: string };

/**
 * Answers questions about analytics. Before each answer the node writes its open counts, so these are included. An open page
 * asks all the time: for it, the node writes them only while they are few, and it sees the others when they are written anyway.
 */
export class AnalyticsAdmin {
  readonly #storage: Storage;
  readonly #reader: KeyReader;
  readonly #writing: Pick<CountWriting, 'flush' | 'flushFew'>;
  readonly #retention: Retention;
  /** Open pages ask the same all the time. */
  readonly #shared: SharedAnswers<readonly VerificationRow[]>;

  constructor(context: AdminContext, writing: Pick<CountWriting, 'flush' | 'flushFew'>, retention: Retention) {
    this.#storage = context.storage;
    this.#reader = new KeyReader(context);
    this.#writing = writing;
    this.#retention = retention;
    this.#shared = new SharedAnswers(context.system.nowMs);
  }

  async getVerifications(actor: Actor, query: VerificationsQuery): Promise<readonly VerificationRow[]> {
    const { apiId, groupBy } = query;
    this.#requireReading(actor, apiId);
    if ((await this.#storage.records.findApi(apiId)) === null) throw notFound('api', apiId);
    const isByTime = groupBy.every((group) => (TIME_GROUPS as readonly GroupName[]).includes(group));
    return this.#share(actor, query, isByTime ? BY_TIME : NOT_BY_TIME, () => this.#answer(actor, query));
  }

  /** Pages share answers. Every other caller gets its own. What the actor may read is checked before. */
  #share(
    actor: Actor,
    question: object,
    sharing: Sharing,
    ask: () => Promise<readonly VerificationRow[]>,
  ): Promise<readonly VerificationRow[]> {
    return actor.via === undefined ? ask() : this.#shared.get(JSON.stringify(question), sharing, ask);
  }

  async #answer(actor: Actor, query: VerificationsQuery): Promise<readonly VerificationRow[]> {
    const { groupBy, limit } = query;
    const time = TIME_GROUPS.find((group) => groupBy.includes(group)) ?? null;
    const range = this.#range(query, time);
    const times = time !== null && groupBy.length === 1 ? timesOf(time, range) : null;
    const order = query.order ?? { by: time === null ? 'total' : 'time', isDescending: time === null };
    // All rows are needed when they are merged or gaps are filled; otherwise the first ones are enough.
    const isWhole = times !== null || query.tags !== null || groupBy.includes('month') || groupBy.includes('tag');
    await this.#writeDown(actor);
    const rows = await this.#read(query, range, isWhole ? null : order);
    const grouping = { time, byTag: groupBy.includes('tag'), byTags: groupBy.includes('tags'), tags: query.tags };
    const grouped = groupRows(rows, grouping);
    if (groupBy.length === 0 && grouped.length === 0) grouped.push(emptyRow({}));
    if (limit === null && grouped.length > MAX_ROWS) throw tooManyRows(MAX_ROWS);
    return ordered(withGaps(grouped, times), order).slice(0, limit ?? MAX_ROWS);
  }

  /** Verifications of one key, or of all keys of an owner that the root key may read, by hour or day. */
  async getKeyVerifications(
    actor: Actor,
    subject: Subject,
    { granularity, ...period }: Period & { readonly granularity: 'hour' | 'day' },
  ): Promise<readonly VerificationRow[]> {
    const of =
      'keyId' in subject ? await this.#ofKey(actor, subject.keyId) : await this.#ofOwner(actor, subject.ownerId);
    const range = rangeOf(granularity, period, this.#kept());
    return this.#share(actor, { ...of, ...range }, BY_TIME, () => this.#answerOf(actor, of, granularity, range));
  }

  async #answerOf(
    actor: Actor,
    { apiIds, ...query }: OfSubject,
    granularity: TimeGroup,
    range: Range,
  ): Promise<readonly VerificationRow[]> {
    const times = timesOf(granularity, range);
    await this.#writeDown(actor);
    const rows: AnalyticsRow[] = [];
    for (const apiId of apiIds) {
      rows.push(...(await this.#storage.analytics.sum({ ...query, ...range, apiId, groupBy: ['time'] })));
    }
    return withGaps(groupRows(rows, { time: granularity, byTag: false, byTags: false, tags: null }), times);
  }

  /** A root key without rights on the api gets NOT_FOUND. */
  #requireReading(actor: Actor, apiId: string): void {
    if (!READING_DEEDS.some((deed) => holdsRightSomewhere(actor.rights, deed)))
      requireSomewhere(actor, READING_DEEDS[0]);
    if (!READING_DEEDS.some((deed) => holdsRight(actor.rights, deed, apiId))) throw notFound('api', apiId);
  }

  async #ofKey(actor: Actor, keyId: string): Promise<OfSubject> {
    const found = await this.#reader.find(actor, 'api.read_key', keyId);
    const apiId = 'poisoned' in found ? found.apiId : found.key.apiId;
    return { apiIds: [apiId], keyIds: [keyId], identityIds: null };
  }

  async #ofOwner(actor: Actor, ownerId: string): Promise<OfSubject> {
    requireSomewhere(actor, 'api.read_key');
    const identity = await this.#storage.records.findIdentity(ownerId);
    const apiIds = identity === null ? [] : (idsWithRight(actor.rights, 'api.read_key') ?? [null]);
    return { apiIds, keyIds: null, identityIds: identity === null ? [] : [identity.id] };
  }

  #kept(): Kept {
    return { nowMs: this.#storage.ledger.nowMs(), retention: this.#retention };
  }

  #range(query: VerificationsQuery, time: TimeGroup | null): Range {
    const { keyIds, externalId, groupBy } = query;
    const isOfMany =
      keyIds === null && (externalId !== null || groupBy.includes('key') || groupBy.includes('identity'));
    return time === null ? rangeOfAll(query, this.#kept(), isOfMany) : rangeOf(time, query, this.#kept());
  }

  /** `order` null: all rows, in any order. */
  async #read(query: VerificationsQuery, range: Range, order: AnalyticsOrder | null): Promise<readonly AnalyticsRow[]> {
    const { apiId, keyIds, externalId, groupBy, tags, limit } = query;
    const identity = externalId === null ? null : await this.#storage.records.findIdentity(externalId);
    const maxRows = order === null ? MAX_READ_ROWS : MAX_ROWS;
    const rows = await this.#storage.analytics.sum({
      ...range,
      apiId,
      keyIds,
      identityIds: externalId === null ? null : identity === null ? [] : [identity.id],
      groupBy: storedGroups(groupBy, tags !== null),
      ...(order === null ? { limit: maxRows + 1 } : { order, limit: limit ?? maxRows + 1 }),
    });
    if (rows.length > maxRows) throw tooManyRows(maxRows);
    return rows;
  }

  /** Writes the open counts of this node before they are read. */
  async #writeDown(actor: Actor): Promise<void> {
    try {
      await (actor.via === undefined ? this.#writing.flush() : this.#writing.flushFew());
    } catch (error) {
      // The node repeats the write until its outcome is known. The caller has only asked a question: nothing is in doubt.
      throw error instanceof StorageOutcomeUnknown ? new StorageUnavailable(error.message) : error;
    }
  }
}

interface OfSubject extends Pick<AnalyticsQuery, 'keyIds' | 'identityIds'> {
  /** null = all. */
  readonly apiIds: readonly (string | null)[];
}

function storedGroups(groupBy: readonly GroupName[], isByTags: boolean): AnalyticsQuery['groupBy'] {
  const has = (...groups: readonly GroupName[]): boolean => groups.some((group) => groupBy.includes(group));
  const stored: AnalyticsQuery['groupBy'][number][] = [];
  if (has(...TIME_GROUPS)) stored.push('time');
  if (has('key')) stored.push('key');
  if (has('identity')) stored.push('identity');
  if (isByTags || has('tag', 'tags')) stored.push('tags');
  return stored;
}

/** One row for each of these times, also without verifications. */
function withGaps(rows: readonly VerificationRow[], times: readonly number[] | null): readonly VerificationRow[] {
  if (times === null) return rows;
  const byTime = new Map(rows.map((row) => [row.timeMs, row]));
  return times.map((timeMs) => byTime.get(timeMs) ?? emptyRow({ timeMs }));
}

function tooManyRows(maxRows: number): AppError {
  return new AppError('BAD_REQUEST', `The result has more than ${maxRows} rows. Use limit or a shorter period.`);
}

/** Answers that are kept at a time. */
const MAX_KEPT = 200;
/** An answer is shared this many times as long as it took to find: so all who ask together take a hundredth of the time. */
const TIMES_AS_LONG = 100;

/** For how long an answer is shared. Between the two, one that took longer to find is shared for longer. */
interface Sharing {
  readonly leastMs: number;
  readonly mostMs: number;
}

interface KeptAnswer<T> {
  readonly fromMs: number;
  untilMs: number;
  readonly answer: Promise<T>;
}

/** Gives the same answer to everybody who asks the same within a while. */
export class SharedAnswers<T> {
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, KeptAnswer<T>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** An answer that failed is not shared. */
  get(question: string, sharing: Sharing, ask: () => Promise<T>): Promise<T> {
    const fromMs = this.#nowMs();
    const known = this.#kept.get(question);
    if (known !== undefined && fromMs >= known.fromMs && fromMs < known.untilMs) return known.answer;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const kept: KeptAnswer<T> = { fromMs, untilMs: fromMs + sharing.mostMs, answer: ask() };
    this.#kept.set(question, kept);
    void this.#limit(question, kept, sharing);
    return kept.answer;
  }

  async #limit(question: string, kept: KeptAnswer<T>, { leastMs, mostMs }: Sharing): Promise<void> {
    try {
      await kept.answer;
      const tookMs = this.#nowMs() - kept.fromMs;
      kept.untilMs = kept.fromMs + Math.min(mostMs, Math.max(leastMs, tookMs * TIMES_AS_LONG));
    } catch {
      if (this.#kept.get(question) === kept) this.#kept.delete(question);
    }
  }
}

/** The sum of one group. Fields that are not grouped by are absent. */
export interface VerificationRow {
  readonly timeMs?: number;
  readonly keyId?: string;
  readonly identity?: { readonly id: string; readonly externalId: string };
  readonly tag?: string;
  readonly tags?: readonly string[];
  readonly counts: Readonly<Record<VerdictCode, number>>;
  readonly total: number;
  /** Credits that these verifications took. */
  readonly credits: number;
}

interface Grouping {
  readonly time: TimeGroup | null;
  readonly byTag: boolean;
  readonly byTags: boolean;
  /** Only verifications that have one of these; null = all. */
  readonly tags: readonly string[] | null;
}

/** Merges rows of the database into months and single tags, keeps those with the wanted tags, and sorts them by group. */
function groupRows(rows: readonly AnalyticsRow[], grouping: Grouping): VerificationRow[] {
  const groups = new Map<string, Sum>();
  for (const row of rows) {
    const tags = row.tags === null || row.tags === '' ? [] : (JSON.parse(row.tags) as string[]);
    const wanted = grouping.tags === null ? tags : tags.filter((tag) => grouping.tags?.includes(tag));
    if (grouping.tags !== null && wanted.length === 0) continue;
    // A verification with several tags counts under each of them, one without tags under none.
    for (const tag of grouping.byTag && wanted.length > 0 ? wanted : [undefined]) {
      const group = groupOf(row, grouping, tag, tags);
      const name = JSON.stringify(group);
      const known = groups.get(name);
      if (known === undefined) groups.set(name, { group, counts: [...row.counts], credits: row.credits });
      else addTo(known, row);
    }
  }
  return Array.from(groups.values(), toRow).sort(byGroup);
}

/** A group while its rows are added up. */
interface Sum {
  readonly group: Group;
  readonly counts: number[];
  credits: number;
}

function addTo(sum: Sum, { counts, credits }: AnalyticsRow): void {
  for (const [i, count] of counts.entries()) sum.counts[i] = (sum.counts[i] ?? 0) + count;
  sum.credits = addCredits(sum.credits, credits);
}

function byGroup(a: VerificationRow, b: VerificationRow): number {
  if (a.timeMs !== b.timeMs) return (a.timeMs ?? 0) - (b.timeMs ?? 0);
  const [first, second] = [a, b].map(({ keyId = '', identity, tag = '', tags }) =>
    [keyId, identity?.id ?? '', tag, tags?.join() ?? ''].join(' '),
  );
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

function emptyRow(group: Group): VerificationRow {
  return toRow({ group, counts: VERDICT_CODES.map(() => 0), credits: 0 });
}

/** Equal rows stay in their order. */
function ordered(rows: readonly VerificationRow[], { by, isDescending }: AnalyticsOrder): VerificationRow[] {
  const value = (row: VerificationRow): number =>
    by === 'time' ? (row.timeMs ?? 0) : by === 'total' || by === 'credits' ? row[by] : row.counts[by];
  return rows.toSorted((a, b) => (isDescending ? value(b) - value(a) : value(a) - value(b)));
}

type Group = Pick<VerificationRow, 'timeMs' | 'keyId' | 'identity' | 'tag' | 'tags'>;

function groupOf(row: AnalyticsRow, grouping: Grouping, tag: string | undefined, tags: readonly string[]): Group {
  const { timeMs, keyId, identityId, externalId = '' } = row;
  return {
    ...(timeMs === null || grouping.time === null ? {} : { timeMs: startOf(grouping.time, timeMs) }),
    ...(keyId === null || keyId === '' ? {} : { keyId }),
    ...(identityId === null || identityId === '' ? {} : { identity: { id: identityId, externalId } }),
    ...(tag === undefined ? {} : { tag }),
    ...(grouping.byTags ? { tags } : {}),
  };
}

function toRow({ group, counts, credits }: Sum): VerificationRow {
  const byCode = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, counts[i] ?? 0]));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return { ...group, counts: byCode as Record<VerdictCode, number>, total, credits };
}

/** The largest number of rows in one answer. */
export const MAX_ROWS = 10_000;
/** The last instant that can be asked for: the end of the year 9999. */
export const MAX_INSTANT_MS = Date.UTC(10_000, 0, 1) - 1;

const DEFAULT_MINUTES = 60;
const DEFAULT_HOURS = 24;
const DEFAULT_DAYS = 30;
/** The largest number of minutes or hours that are read; fewer when each has rows of many keys. */
const MAX_FINE_SPANS = 1_500;
const MAX_FINE_SPANS_OF_MANY = 48;

/** The period of a question: from `startMs` to before `endMs`. */
export interface Period {
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** The whole spans that are read. */
interface Range {
  readonly span: Span;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The time now, and how long counts are kept. */
interface Kept {
  readonly nowMs: number;
  readonly retention: Retention;
}

/**
 * Widens the period to whole minutes, hours, days or months (UTC), as far back as they are kept. The default start is 60 minutes, 24 hours
 * or 30 days ago.
 */
function rangeOf(group: TimeGroup, period: Period, { nowMs, retention }: Kept): Range {
  const span = group === 'month' ? 'day' : group;
  const endMs = endOf(period, nowMs);
  const untilMs = nextOf(group, endMs - 1);
  if (period.startMs === null) return { span, fromMs: defaultStart(group, untilMs, endMs), untilMs };
  const firstKeptMs = Math.ceil((nowMs - retention[span]) / SPAN_MS[span]) * SPAN_MS[span];
  return { span, fromMs: startOf(group, Math.max(period.startMs, firstKeptMs)), untilMs };
}

/** For a question without a time group: the finest span that is kept long enough and is not too many rows. */
function rangeOfAll(period: Period, kept: Kept, isOfMany: boolean): Range {
  if (period.startMs === null) return rangeOf('day', period, kept);
  const { nowMs, retention } = kept;
  const { startMs } = period;
  const endMs = endOf(period, nowMs);
  const maxSpans = isOfMany ? MAX_FINE_SPANS_OF_MANY : MAX_FINE_SPANS;
  const span =
    (['minute', 'hour'] as const).find(
      (each) => nowMs - startMs <= retention[each] && endMs - startMs <= maxSpans * SPAN_MS[each],
    ) ?? 'day';
  const fromMs = startOfSpan(span, startMs);
  return { span, fromMs, untilMs: Math.ceil(endMs / SPAN_MS[span]) * SPAN_MS[span] };
}

/** The start of each minute, hour, day or month of the range. */
function timesOf(group: TimeGroup, { fromMs, untilMs }: Range): number[] {
  const times: number[] = [];
  for (let timeMs = fromMs; timeMs < untilMs; timeMs = nextOf(group, timeMs)) {
    if (times.length === MAX_ROWS) {
      throw new AppError(
        'BAD_REQUEST',
        `There are more than ${MAX_ROWS} ${group}s between start and end. Choose a shorter period.`,
      );
    }
    times.push(timeMs);
  }
  return times;
}

/** The start of the minute, hour, day or month that an instant is in. */
function startOf(group: TimeGroup, timeMs: number): number {
  if (group !== 'month') return startOfSpan(group, timeMs);
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function nextOf(group: TimeGroup, timeMs: number): number {
  if (group !== 'month') return startOf(group, timeMs) + SPAN_MS[group];
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Without an end: up to and including this millisecond. */
function endOf({ startMs, endMs }: Period, nowMs: number): number {
  return endMs ?? Math.max(nowMs, startMs ?? 0) + 1;
}

function defaultStart(group: TimeGroup, untilMs: number, endMs: number): number {
  if (group === 'minute') return Math.max(0, untilMs - DEFAULT_MINUTES * SPAN_MS.minute);
  if (group === 'hour') return Math.max(0, untilMs - DEFAULT_HOURS * SPAN_MS.hour);
  if (group === 'day') return Math.max(0, untilMs - DEFAULT_DAYS * SPAN_MS.day);
  return startOf('month', Math.max(0, endMs - DEFAULT_DAYS * SPAN_MS.day));
}
