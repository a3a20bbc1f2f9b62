import { type Change, StorageUnavailable } from '../../port/storage.ts';

/**
 * What a ledger refuses while its database is moved to another one:
 *
 *   nothing     it is not moved
 *   changes     management is refused, and spends go on: records can be copied
 *   everything  spends are refused, too: nothing that the ledger keeps changes any more
 */
export type Held = 'nothing' | 'changes' | 'everything';

const CHANGES =
  'The service is being moved to another database: nothing can be changed until that is done. Verifications go on.';
const EVERYTHING =
  'The service is being moved to another database, and spends and changes nothing here. Try again: the new service will answer.';

export class MoveHold {
  held: Held = 'nothing';

  /** Why everything is refused; null = it is not. */
  get refusal(): string | null {
    return this.held === 'everything' ? EVERYTHING : null;
  }

  /** A change without records and audit entries belongs to a spend, for example to settle a grant that has expired. It goes on as spends do. */
  refuseChange({ writes, entries = [] }: Pick<Change, 'writes' | 'entries'>): void {
    if (this.held === 'changes' && writes.length + entries.length > 0) throw new StorageUnavailable(CHANGES);
    this.refuse();
  }

  refuse(): void {
    if (this.refusal !== null) throw new StorageUnavailable(this.refusal);
  }
}
