import { MAX_NAMESPACES } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';

/** How long a count of the database is used. What this process creates meanwhile is added to it. */
const KEPT_MS = 1000;
/** On a shared database, so close to its quota, each change counts. It is more than other nodes create while a count is used. */
const CLOSE = 10_000;

export interface QuotaLimits {
  /** null = no quota. */
  readonly keys: number | null;
  readonly apis: number | null;
  /** Per root key and node. */
  readonly verificationsPerSecond: number | null;
  readonly managementCallsPerSecond: number;
  readonly managementBytesPerSecond: number;
}

type Counted = 'keys' | 'apis' | 'namespaces';

/** How many more records may be created, and the error for the one after them. */
export interface QuotaLeft {
  readonly count: number;
  readonly refusal: () => AppError;
}

/** Answers the writes that a change needs to keep the quota. Asked again for the same change, it counts anew, and refuses what is too much. */
export type KeepQuota = () => Promise<readonly RecordWrite[]>;

/**
 * How many records this installation may hold. The database counts them; between two counts, this process adds what it creates. Close to a
 * quota, the changes themselves count, one after the other on all nodes. So nodes do not exceed it together.
 */
export class Quotas {
  readonly #counters: Readonly<Record<Counted, QuotaCounter | null>>;

  constructor({ records, localCounts, ledger }: Storage, limits: QuotaLimits) {
    const counter = (what: Counted, words: string, max: number | null, count: (upTo: number) => Promise<number>) =>
      max === null
        ? null
        : new QuotaCounter({ what, words, max, count, isShared: localCounts.isShared, nowMs: () => ledger.nowMs() });
    this.#counters = {
      keys: counter('keys', 'keys (KEYSTILE_MAX_KEYS)', limits.keys, (upTo) => records.countKeys(upTo)),
      apis: counter('apis', 'apis (KEYSTILE_MAX_APIS)', limits.apis, (upTo) => records.countApis(upTo)),
      namespaces: counter('namespaces', 'namespaces', MAX_NAMESPACES, (upTo) => records.countNamespaces(upTo)),
    };
  }

  /** How many more may be created, at most `wanted`; null = no quota. */
  async left(what: Counted, wanted: number): Promise<QuotaLeft | null> {
    const counter = this.#counters[what];
    return counter === null ? null : { count: await counter.left(wanted), refusal: () => counter.refusal(1) };
  }

  /** Runs work that creates `count` records, or refuses when there would be too many. */
  async creating<T>(what: Counted, count: number, work: (keepQuota: KeepQuota) => Promise<T>): Promise<T> {
    const counter = this.#counters[what];
    return counter === null ? work(async () => []) : counter.creating(count, work);
  }
}

interface QuotaOptions {
  readonly what: Counted;
  /** How a refusal names them. */
  readonly words: string;
  readonly max: number;
  readonly count: (upTo: number) => Promise<number>;
  /** Other nodes create some, too. */
  readonly isShared: boolean;
  readonly nowMs: () => number;
}

class QuotaCounter {
  readonly #options: QuotaOptions;
  readonly #max: number;
  #counted = 0;
  #countedAtMs = -Infinity;
  /** Created since the last count began. */
  #made = 0;
  #underWay = 0;
  #counting: Promise<void> | null = null;

  constructor(options: QuotaOptions) {
    this.#options = options;
    this.#max = options.max;
  }

  async left(wanted: number): Promise<number> {
    if (!this.#isRecent() || this.#isTooMuch(wanted)) await this.#recount();
    return Math.max(0, Math.min(wanted, this.#max - this.#counted - this.#made - this.#underWay));
  }

  refusal(count: number): AppError {
    return new AppError(
      'PRECONDITION_FAILED',
      `This installation is limited to ${this.#max} ${this.#options.words}; ${count} more would exceed the quota.`,
    );
  }

  async creating<T>(count: number, work: (keepQuota: KeepQuota) => Promise<T>): Promise<T> {
    // What creates nothing keeps every quota, also one that was lowered below what there is.
    if (count === 0) return work(async () => []);
    if (!this.#isRecent() || this.#isTooMuch(count)) await this.#recount();
    if (this.#isTooMuch(count)) throw this.refusal(count);
    this.#underWay += count;
    let tries = 0;
    const keepQuota: KeepQuota = async () => {
      if (tries++ > 0) {
        await this.#recount();
        // Without what is under way: some of that may be in the count already.
        if (this.#counted + count > this.#max) throw this.refusal(count);
      }
      if (!this.#options.isShared || !this.#isTooMuch(CLOSE)) return [];
      return [{ kind: 'requireAtMost', what: this.#options.what, of: null, most: this.#max }];
    };
    try {
      const result = await work(keepQuota);
      this.#made += count;
      return result;
    } finally {
      this.#underWay -= count;
    }
  }

  #isTooMuch(count: number): boolean {
    return this.#counted + this.#made + this.#underWay + count > this.#max;
  }

  /** A clock that is set back makes the count old, too. */
  #isRecent(): boolean {
    const ageMs = this.#options.nowMs() - this.#countedAtMs;
    return ageMs >= 0 && ageMs < KEPT_MS;
  }

  async #recount(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => (this.#counting = null));
    await this.#counting;
  }

  /** Records that are created while the database counts may be in its count or not. They are added, so the sum is never too low. */
  async #countNow(): Promise<void> {
    const madeBefore = this.#made;
    const startedAtMs = this.#options.nowMs();
    this.#counted = await this.#options.count(this.#max + 1);
    this.#made -= madeBefore;
    this.#countedAtMs = startedAtMs;
  }
}
