import type { RecordsNote } from '../../core/spend.ts';

/** Of a row: when its records were checked, and the revisions that its identity and its plan had then. */
const NOTE = 3;

/** For each packed key, what a ledger has noted about the records that decide its spends. A new row has no note. */
export class RowNotes {
  #numbers: Uint32Array;

  constructor(rows: number) {
    this.#numbers = new Uint32Array(rows * NOTE);
  }

  grow(): void {
    const numbers = new Uint32Array(this.#numbers.length * 2);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }

  /** A note about other revisions is none. */
  of(row: number, identityRevision: number, planRevision: number): RecordsNote {
    return new RowNote(this.#numbers, row * NOTE, identityRevision, planRevision);
  }
}

/** After its rows were packed again, it writes where nobody reads. */
class RowNote implements RecordsNote {
  readonly #numbers: Uint32Array;
  readonly #at: number;
  readonly #identityRevision: number;
  readonly #planRevision: number;

  constructor(numbers: Uint32Array, at: number, identityRevision: number, planRevision: number) {
    this.#numbers = numbers;
    this.#at = at;
    this.#identityRevision = identityRevision;
    this.#planRevision = planRevision;
  }

  get checkedAt(): number {
    const [numbers, at] = [this.#numbers, this.#at];
    const isOfThese = numbers[at + 1] === this.#identityRevision && numbers[at + 2] === this.#planRevision;
    return isOfThese ? (numbers[at] ?? 0) : 0;
  }

  set checkedAt(lastChange: number) {
    this.#numbers[this.#at] = lastChange;
    this.#numbers[this.#at + 1] = this.#identityRevision;
    this.#numbers[this.#at + 2] = this.#planRevision;
  }
}
