import type { KeyEntry } from '../keyEntry.ts';

/** The numbers of one note: when the records were compared, and the revisions of the identity and of the plan then. */
const NOTE = 3;

type Holders = Pick<KeyEntry, 'identity' | 'plan'>;

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
  at(row: number, entry: Holders): number {
    const [numbers, at] = [this.#numbers, row * NOTE];
    const isOfThese = numbers[at + 1] === identityRevision(entry) && numbers[at + 2] === planRevision(entry);
    return isOfThese ? (numbers[at] ?? 0) : 0;
  }

  put(row: number, entry: Holders, checkedAt: number): void {
    const [numbers, at] = [this.#numbers, row * NOTE];
    numbers[at] = checkedAt;
    numbers[at + 1] = identityRevision(entry);
    numbers[at + 2] = planRevision(entry);
  }
}

/** 0: there is none. */
function identityRevision({ identity }: Holders): number {
  return identity === null ? 0 : identity.revision;
}

/** Of the plan that the key or its identity is on. */
function planRevision({ plan, identity }: Holders): number {
  return (plan ?? identity?.plan)?.revision ?? 0;
}
