import { AppError } from '../core/errors.ts';

const WINDOW_MS = 1000;

/** Askers that are counted one by one in a second. All further ones are counted together, so that addresses without end take no memory. */
const MAX_ASKERS = 100_000;
const FURTHER = '';

/** What each caller takes in a second on this node. Only the running second is counted. */
class PerSecond {
  readonly max: number;
  readonly #maxAskers: number;
  readonly #taken = new Map<string, number>();
  #window = 0;

  constructor(max: number, maxAskers = MAX_ASKERS) {
    this.max = max;
    this.#maxAskers = maxAskers;
  }

  /** False: it would be more than the maximum, and nothing is taken. */
  take(name: string, count: number, nowMs: number): boolean {
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window !== this.#window) this.#taken.clear();
    this.#window = window;
    const isCounted = this.#taken.has(name) || this.#taken.size < this.#maxAskers;
    const counted = isCounted ? name : FURTHER;
    const taken = (this.#taken.get(counted) ?? 0) + count;
    if (taken > this.max) return false;
    this.#taken.set(counted, taken);
    return true;
  }
}

/** Who asks for verifications: a root key, or an address where verifying needs none. */
export interface QuotaHolder {
  readonly kind: 'root key' | 'address';
  /** Those with the same name are counted together. */
  readonly name: string;
}

/** Bounds the keys that each root key or address verifies in a second on this node. */
export class VerificationQuota {
  readonly #counts: PerSecond;

  constructor(max: number, maxAskers?: number) {
    this.#counts = new PerSecond(max, maxAskers);
  }

  /** Takes `count` verifications, or throws and takes none. */
  take({ kind, name }: QuotaHolder, count: number, nowMs: number): void {
    const { max } = this.#counts;
    if (count > max) throw tooLong(kind, count, max);
    if (this.#counts.take(name, count, nowMs)) return;
    throw new AppError(
      'RATE_LIMITED',
      `This ${kind} may verify ${max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); try again in a second.`,
    );
  }
}

/** A list that exceeds the quota by itself: waiting does not help. */
function tooLong(kind: QuotaHolder['kind'], count: number, max: number): AppError {
  return new AppError(
    'RATE_LIMITED',
    `A list of ${count} keys can never be verified: this ${kind} may verify ${max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); send shorter lists.`,
  );
}

/** Bounds the management calls of each root key in a second on this node, and their bodies. */
export class ManagementQuota {
  readonly #calls: PerSecond;
  readonly #bytes: PerSecond;

  constructor(calls: number, bytes: number) {
    this.#calls = new PerSecond(calls);
    this.#bytes = new PerSecond(bytes);
  }

  /** Counts a call, before its body is looked at. Throws when there are too many. */
  takeCall(rootKeyId: string, nowMs: number): void {
    if (this.#calls.take(rootKeyId, 1, nowMs)) return;
    throw new AppError(
      'RATE_LIMITED',
      `This root key may make ${this.#calls.max} management calls a second (KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND); try again in a second.`,
    );
  }

  /** Counts the body of a call, before it is read. Throws when there are too many bytes. */
  takeBytes(rootKeyId: string, bytes: number, nowMs: number): void {
    if (this.#bytes.take(rootKeyId, bytes, nowMs)) return;
    throw new AppError(
      'RATE_LIMITED',
      `This root key may send ${this.#bytes.max} bytes of management calls a second (KEYSTILE_MAX_MANAGEMENT_BYTES_PER_SECOND); try again in a second.`,
    );
  }
}
