import { addCredits, type VerificationCount, type CountColumns } from '../../src/core/verificationCounts.ts';
import type { VerdictCode } from '../../src/core/verdictCodes.ts';
import { BLANK_API } from '../../src/model/apis.ts';
import { BLANK_IDENTITY } from '../../src/model/identities.ts';
import type { ApiRecord } from '../../src/model/apis.ts';
import type { KeyEntry } from '../../src/engine/cache/entries.ts';
import { TagLists } from '../../src/engine/analytics/tagLists.ts';
import { OpenCounts } from '../../src/engine/analytics/openCounts.ts';
import { CountWriting } from '../../src/engine/analytics/writeCounts.ts';
import type { VerifyRequest } from '../../src/engine/verify/request.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../src/storage/port/storage.ts';
import type { Page } from '../../src/storage/port/records.ts';
import type { Span, Analytics, AnalyticsQuery, AnalyticsRow } from '../../src/storage/port/analytics.ts';
import { cachedDigest, CachedKeys } from './cachedKeys.ts';
import { VirtualClock } from './clock.ts';

/** What becomes of a batch: it is added; nothing happens; it is added, or not, and the answer gets lost. */
export type Fate = 'added' | 'refused' | 'added in silence' | 'lost';

/** A database for counts alone: what was added, by what it is counted for, and how each batch came. */
export class MemoryAnalytics implements Analytics {
  /** By VERDICT_CODES, then the credits. */
  readonly sums = new Map<string, number[]>();
  readonly lastUses = new Map<string, number>();
  readonly batches: { readonly batch: number; readonly size: number }[] = [];
  readonly pruned: [Span, number][] = [];
  folds = 0;
  readonly usesLookedAfter: (string | null)[] = [];
  /** Of the batches that come next; the others are added. */
  fates: Fate[] = [];
  #lastBatch = 0;

  async add(lists: CountColumns, batch: number): Promise<void> {
    const fate = this.fates.shift() ?? 'added';
    const added = lists.rows();
    this.batches.push({ batch, size: added.length });
    await Promise.resolve();
    if (fate === 'refused') throw new StorageUnavailable('refused');
    if (fate !== 'lost' && batch > this.#lastBatch) {
      this.#lastBatch = batch;
      for (const count of added) this.#add(count);
    }
    if (fate !== 'added') throw new StorageOutcomeUnknown('no answer');
  }

  #add(count: VerificationCount): void {
    addTo(this.sums, count);
    const { keyId, lastAtMs } = count;
    if (keyId !== '') this.lastUses.set(keyId, Math.max(this.lastUses.get(keyId) ?? 0, lastAtMs));
  }

  async sum(_query: AnalyticsQuery): Promise<readonly AnalyticsRow[]> {
    throw new Error('nothing is read here');
  }

  /** As `apiId dayMs limit`. */
  readonly listsAskedFor: string[] = [];
  listsInSums: readonly string[] = [];

  async tagLists(apiId: string, dayMs: number, limit: number): Promise<readonly string[]> {
    this.listsAskedFor.push(`${apiId} ${new Date(dayMs).toISOString()} ${limit}`);
    return this.listsInSums;
  }

  /** The first step leaves something. */
  async fold(): Promise<boolean> {
    return ++this.folds > 1;
  }

  async pruneUses(after: string | null): Promise<string | null> {
    this.usesLookedAfter.push(after);
    return after === null ? 'key_1' : null;
  }

  /** The first step leaves something. */
  async prune(span: Span, untilMs: number): Promise<boolean> {
    this.pruned.push([span, untilMs]);
    return this.pruned.filter(([each]) => each === span).length > 1;
  }
}

/** Adds the counts and credits of a count to those of the same minute, api, key, identity and tags. */
export function addTo(sums: Map<string, number[]>, count: Omit<VerificationCount, 'lastAtMs'>): void {
  const { minuteMs, apiId, keyId, identityId, tags, counts, credits } = count;
  const name = JSON.stringify([new Date(minuteMs).toISOString(), apiId, keyId, identityId, tags]);
  const sum = sums.get(name);
  const added = [...counts, credits];
  if (sum === undefined) sums.set(name, added);
  else for (const [i, value] of added.entries()) sum[i] = addCredits(sum[i] ?? 0, value);
}

export const keyIdOf = (number: number): string => `key_${String(number).padStart(22, '0')}`;
export const digestOf = (number: number): string => cachedDigest(keyIdOf(number));
const apiIdOf = (number: number): string => `api_${(number % 2) + 1}`;

export interface Asked {
  readonly code?: VerdictCode;
  readonly tags?: readonly string[] | null;
  /** The api that the request names. */
  readonly apiId?: string | null;
  readonly creditsTaken?: number;
  /** When it was decided; now when not given. */
  readonly atMs?: number;
}

/** The open counts with everything around it, on a clock that the test moves. */
export class AnalyticsSetup {
  readonly clock = new VirtualClock('2026-03-15T12:00:00Z');
  readonly #cached = new CachedKeys();
  readonly packed = this.#cached.keys;
  readonly openCounts: OpenCounts;
  readonly analytics = new MemoryAnalytics();
  /** Apis that exist. */
  readonly apis = new Set(['api_1', 'api_2']);
  /** What was asked about apis. */
  readonly lookups: (readonly string[])[] = [];
  readonly writing: CountWriting;

  constructor(sliceSize = 50, maxTagLists = 1_000) {
    this.openCounts = new OpenCounts(this.packed, this.clock.nowMs, new TagLists(maxTagLists));
    this.writing = new CountWriting({
      openCounts: this.openCounts,
      analytics: this.analytics,
      records: { listApis: (query) => this.#listApis(query.ids ?? []) },
      retention: { minute: 1_000, hour: 2_000, day: 3_000 },
      sliceSize,
    });
  }

  /** A key that fits into its row; apis take turns. */
  pack(number: number): KeyEntry {
    return this.#cached.add({ id: keyIdOf(number), apiId: apiIdOf(number) });
  }

  /** A key with a side, and with an identity when it is told one. */
  keep(number: number, identityId: string | null = null): KeyEntry {
    const identity = identityId === null ? null : { ...BLANK_IDENTITY, id: identityId, externalId: identityId };
    return this.#cached.add({ id: keyIdOf(number), apiId: apiIdOf(number), name: 'a name' }, identity);
  }

  verify(key: KeyEntry | null, asked: Asked = {}): void {
    const { code = key === null ? 'NOT_FOUND' : 'VALID', tags = null, apiId = null, creditsTaken = 0 } = asked;
    const atMs = asked.atMs ?? (key === null ? 0 : this.clock.nowMs());
    const verdict = { code, key, remaining: null, creditsTaken, limits: null, replayed: false, atMs };
    this.openCounts.count({ ...QUESTION, tags, apiId }, verdict);
  }

  /** Everything that was counted, but for apis that may not exist. */
  drain(): VerificationCount[] {
    const taken = this.openCounts.take(Infinity);
    this.openCounts.seal();
    return [...taken.rows(), ...this.openCounts.take(Infinity).rows()];
  }

  /** What is written down, `valid` alone unless there is more: `minute api key identity tags: counts (credits)`. */
  written(): string[] {
    const lines = [...this.analytics.sums].map(([name, sums]) => {
      const [counts, credits = 0] = [sums.slice(0, -1), sums.at(-1)];
      const [minute = '', ...rest] = JSON.parse(name) as string[];
      const last = counts.findLastIndex((count) => count !== 0);
      return `${[minute.slice(11, 16), ...rest].join(' ').replaceAll(/ +/g, ' ').trimEnd()}: ${counts.slice(0, last + 1).join()}${credits === 0 ? '' : ` (${credits})`}`;
    });
    return lines.sort();
  }

  async #listApis(ids: readonly string[]): Promise<Page<ApiRecord>> {
    this.lookups.push(ids);
    const items = ids.filter((id) => this.apis.has(id)).map((id) => ({ ...BLANK_API, id }));
    return { items, total: items.length, cursor: null };
  }
}

export const QUESTION: VerifyRequest = {
  secretDigest: '',
  olderDigests: null,
  apiId: null,
  creditCost: 1,
  limits: null,
  permissions: null,
  tags: null,
  caller: { address: () => null },
  idempotency: null,
  mayVerify: null,
  reservation: null,
  isExplained: false,
};
