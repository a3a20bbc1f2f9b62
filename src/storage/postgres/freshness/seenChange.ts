import type { Spend } from '../../../core/spend.ts';

/**
 * The last change of records that this node has seen. Spends rely on it: while the database still has the same token, no record has changed
 * since, and records that were compared after that change need not be compared again.
 */
export class SeenChange {
  /** null: none was seen yet, or there was another one since. */
  #token: string | null = null;
  /** Counts the changes that were seen, from 1 on. What a note says is this number. */
  #sequence = 0;

  see(token: string): void {
    if (this.#token === token) return;
    this.#token = token;
    this.#sequence++;
  }

  /** The database has another token than the one that was seen under this number. Until it is seen, no spend relies on a note. */
  outdate(sequence: number): void {
    if (this.#sequence === sequence) this.#token = null;
  }

  get token(): string | null {
    return this.#token;
  }

  /** 0: a note that is made now would not count. */
  get sequence(): number {
    return this.#token === null ? 0 : this.#sequence;
  }

  /** The records that decided this spend were compared after the change that was seen last. */
  covers({ note }: Spend): boolean {
    return note !== undefined && this.#token !== null && note.checkedAt === this.#sequence;
  }
}
