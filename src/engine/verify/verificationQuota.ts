import { AppError } from '../../core/errors.ts';

const WINDOW_MS = 1000;

/** Bounds the keys that each root key verifies in a second on this node, where verifying needs a root key. */
export class VerificationQuota {
  /** null = no quota. */
  readonly #max: number | null;
  readonly #taken = new Map<string, number>();
  #window = 0;

  constructor(max: number | null) {
    this.#max = max;
  }

  /** Takes `count` verifications, or throws and takes none. Only the running second is counted. */
  take(rootKeyId: string, count: number, nowMs: number): void {
    if (this.#max === null) return;
    if (count > this.#max) throw tooLong(count, this.#max);
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window !== this.#window) this.#taken.clear();
    this.#window = window;
    const taken = (this.#taken.get(rootKeyId) ?? 0) + count;
    if (taken > this.#max) {
      throw new AppError(
        'RATE_LIMITED',
        `This root key may verify ${this.#max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); try again in a second.`,
      );
    }
    this.#taken.set(rootKeyId, taken);
  }
}

/** A list that exceeds the quota by itself: waiting does not help. */
function tooLong(count: number, max: number): AppError {
  return new AppError(
    'RATE_LIMITED',
    `A list of ${count} keys can never be verified: this root key may verify ${max} keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); send shorter lists.`,
  );
}
