import { AppError, notFound } from '../../../core/errors.ts';
import { holdsRight, holdsRightSomewhere, idsWithRight } from '../../../core/rights.ts';
import { emptyRow, groupRows, ordered, type VerificationRow } from './groupRows.ts';
import {
  type Kept,
  MAX_ROWS,
  type Period,
  type Range,
  rangeOf,
  rangeOfAll,
  TIME_GROUPS,
  type TimeGroup,
  timesOf,
} from './timeRange.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { type Actor, requireSomewhere } from '../change/requireRight.ts';
import { KeyReader } from '../keys/readKeys.ts';
import type { CountWriting, Retention } from '../../analytics/writeCounts.ts';
import type { AnalyticsOrder, AnalyticsQuery, AnalyticsRow } from '../../../storage/port/analytics.ts';
import { type Storage, StorageOutcomeUnknown, StorageUnavailable } from '../../../storage/port/storage.ts';

export const GROUPS = [...TIME_GROUPS, 'key', 'identity', 'tag', 'tags'] as const;
type Group = (typeof GROUPS)[number];

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
  readonly groupBy: readonly Group[];
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
    const isByTime = groupBy.every((group) => (TIME_GROUPS as readonly Group[]).includes(group));
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

function storedGroups(groupBy: readonly Group[], isByTags: boolean): AnalyticsQuery['groupBy'] {
  const has = (...groups: readonly Group[]): boolean => groups.some((group) => groupBy.includes(group));
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
