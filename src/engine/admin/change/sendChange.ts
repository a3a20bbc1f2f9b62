import type { AccountMark } from '../../../core/account.ts';
import type { RecordChange } from '../../../storage/port/freshness.ts';
import { inLockOrder } from '../../../storage/port/lockOrder.ts';
import type { Change, ChangeOutcome, Ledger } from '../../../storage/port/storage.ts';
import { recordChangeOf } from '../../../storage/port/writeEffects.ts';
import type { EventMaker } from './eventMaker.ts';
import { shortenedEntry } from './shortenedEntry.ts';

export interface SendContext {
  readonly ledger: Ledger;
  readonly events: EventMaker;
  readonly sha256: (text: string) => string;
  /** Drops what this node has cached of changed records. */
  readonly forget: (change: RecordChange) => void;
  /** The ledger did not take a change, because the account has this mark. */
  readonly learn: (mark: AccountMark, nowMs: number) => void;
}

/** Sends changes to the ledger, each with the events of its audit entries. Before one is answered, this node drops what it has cached. */
export class SendChange {
  readonly #context: SendContext;

  constructor(context: SendContext) {
    this.#context = context;
  }

  /** The cache is dropped also when the outcome is unknown: the change may have happened. */
  async send(change: Change): Promise<ChangeOutcome> {
    const { ledger, events: maker, sha256, forget, learn } = this.#context;
    try {
      const audited = change.entries ?? [];
      const events = [...maker.ofEntries(audited), ...(change.events ?? [])];
      const entries = audited.map((entry) => shortenedEntry(entry, sha256));
      const outcome = await ledger.apply({ ...change, entries, events, writes: inLockOrder(change.writes) });
      if (outcome.status === 'stale' && outcome.mark !== undefined) learn(outcome.mark, outcome.nowMs);
      return outcome;
    } finally {
      const touched = recordChangeOf(change.writes);
      if (touched !== null) forget(touched);
    }
  }
}
