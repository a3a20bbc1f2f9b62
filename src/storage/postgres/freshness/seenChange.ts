import type { Spend } from '../../../core/spend.ts';

/** One change of records, as the counter in the database names it. */
export interface CountedChange {
  readonly number: number;
  /** Another text with each change: a promoted standby may give a number once more that its primary had given to another change. */
  readonly token: string;
}

/**
 * The last change of records that this node has seen. Spends rely on it: while the database still names the same change, no record has
 * changed since, and records that were compared after that change need not be compared again.
 */
export class SeenChange {
  #change: CountedChange | null = null;
  /** Counts the changes that were seen, from 1 on. What a note says is this number. */
  #sequence = 0;

  see({ number, token }: CountedChange): void {
    if (this.#change?.number === number && this.#change.token === token) return;
    this.#change = { number, token };
    this.#sequence++;
  }

  /** null: none was seen yet. */
  get change(): CountedChange | null {
    return this.#change;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** The records that decided this spend were compared after the change that was seen last. */
  covers({ decidedBy }: Spend): boolean {
    return decidedBy !== undefined && this.#sequence > 0 && decidedBy.checkedAt === this.#sequence;
  }
}
