/** Of a row: when its records were checked, and the revisions that its identity and its plan had then. */
const NOTE = 3;

/** For each packed key, what a ledger has noted about the records that decide its spends (RecordsNote). A new row has no note. */
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

  /** A note about other revisions is none: 0. */
  at(row: number, identityRevision: number, planRevision: number): number {
    const [numbers, at] = [this.#numbers, row * NOTE];
    const isOfThese = numbers[at + 1] === identityRevision && numbers[at + 2] === planRevision;
    return isOfThese ? (numbers[at] ?? 0) : 0;
  }

  put(row: number, identityRevision: number, planRevision: number, checkedAt: number): void {
    const [numbers, at] = [this.#numbers, row * NOTE];
    numbers[at] = checkedAt;
    numbers[at + 1] = identityRevision;
    numbers[at + 2] = planRevision;
  }
}
