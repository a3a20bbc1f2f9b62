import { AppError } from '../../core/errors.ts';

const WINDOW_MS = 1000;

/** Askers that are counted one by one in a second. All further ones are counted together, so that addresses without end take no memory. */
const MAX_ASKERS = 100_000;
const FURTHER = '';

/** Who asks for verifications: a root key, or an address where verifying needs none. */
export interface QuotaHolder {
  readonly kind: 'root key' | 'address';
  /** Those with the same name are counted together. */
  readonly name: string;
}

/** Bounds the keys that each root key or address verifies in a second on this node. */
export class VerificationQuota {
  readonly #max: number;
  readonly #maxAskers: number;
  readonly #taken = new Map<string, number>();
  #window = 0;

  constructor(max: number, maxAskers = MAX_ASKERS) {
    this.#max = max;
    this.#maxAskers = maxAskers;
  }

  /** Takes `count` verifications, or throws and takes none. Only the running second is counted. */
  take({ kind, name }: QuotaHolder, count: number, nowMs: number): void {
    if (count > this.#max) throw tooLong(kind, count, this.#max);
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window !== this.#window) this.#taken.clear();
    this.#window = window;
    const isCounted = this.#taken.has(name) || this.#taken.size < this.#maxAskers;
    const counted = isCounted ? name : FURTHER;
    const taken = (this.#taken.get(counted) ?? 0) + count;
    if (taken > this.#max) {
      throw new AppError(
        'RATE_LIMITED',
        `This ${kind} may verify ${this.#max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); try again in a second.`,
      );
    }
    this.#taken.set(counted, taken);
  }
}

/** A list that exceeds the quota by itself: waiting does not help. */
function tooLong(kind: QuotaHolder['kind'], count: number, max: number): AppError {
  return new AppError(
    'RATE_LIMITED',
    `A list of ${count} keys can never be verified: this ${kind} may verify ${max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); send shorter lists.`,
  );
}
