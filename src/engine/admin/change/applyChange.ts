import type { AccountMark } from '../../../core/account.ts';
import { AppError } from '../../../core/errors.ts';
import { recordChangeOf } from '../../../storage/port/writeEffects.ts';
import type { RecordChange } from '../../../storage/port/freshness.ts';
import type { Change, ChangeOutcome, Ledger } from '../../../storage/port/storage.ts';
import type { EventMaker } from './eventMaker.ts';
import { OneAtATime } from '../../oneAtATime.ts';
import { inLockOrder } from '../../../storage/port/lockOrder.ts';

/** How often a change is made again after another node came first. Of three nodes that compete, each wins one try in three. */
const MAX_TRIES = 20;

type Done = ChangeOutcome & { status: 'done' };

/** A change, and the answer that its caller gets once it is done. */
interface DraftedChange<T> {
  readonly change: Change;
  readonly answer: (done: Done) => T;
}

/** Applies management changes. Each is one transaction. Before it is answered, this node drops what it has cached of the records. */
export class ApplyChange {
  readonly #ledger: Ledger;
  readonly #events: EventMaker;
  readonly #forget: (change: RecordChange) => void;
  readonly #learn: (mark: AccountMark, nowMs: number) => void;
  /** By target. Without it, each round of many changes of one record would let only one through. */
  readonly #queues = new OneAtATime('Too many changes of this record are waiting; nothing was changed. Try again.');

  constructor(
    ledger: Ledger,
    events: EventMaker,
    forget: (change: RecordChange) => void,
    learn: (mark: AccountMark, nowMs: number) => void,
  ) {
    this.#ledger = ledger;
    this.#events = events;
    this.#forget = forget;
    this.#learn = learn;
  }

  /**
   * Reads the records, makes the change and applies it. When another change came in between, it starts again from reading. So the
   * fields that this change names win, and the other fields keep what the other change wrote.
   */
  async apply<T>(make: () => Promise<DraftedChange<T>>): Promise<T> {
    const { change, answer } = await make();
    const target = targetOf(change);
    if (!this.#queues.isBusy(target)) {
      const outcome = await this.#send(change);
      if (outcome.status === 'done') return answer(outcome);
    }
    return this.#queues.run(target, () => this.#applyAnew(make));
  }

  /** Runs one at a time on this node. A change by another node can still come in between. */
  async #applyAnew<T>(make: () => Promise<DraftedChange<T>>): Promise<T> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { change, answer } = await make();
      const outcome = await this.#send(change);
      if (outcome.status === 'done') return answer(outcome);
    }
    throw new AppError(
      'UNAVAILABLE',
      'Other requests are changing this record at the same time; nothing was changed. Try again.',
    );
  }

  /** Applies a change that does not depend on anything that was read. */
  async applyOnce(change: Change): Promise<void> {
    await this.apply(async () => ({ change, answer: () => undefined }));
  }

  /** Tries once. False when another change came in between. */
  async tryOnce(change: Change): Promise<boolean> {
    return (await this.#send(change)).status === 'done';
  }

  /** Every audited change has its events. The cache is dropped also when the outcome is unknown: the change may have happened. */
  async #send(change: Change): Promise<ChangeOutcome> {
    try {
      const events = [...this.#events.ofEntries(change.entries ?? []), ...(change.events ?? [])];
      const outcome = await this.#ledger.apply({ ...change, events, writes: inLockOrder(change.writes) });
      if (outcome.status === 'stale' && outcome.mark !== undefined) this.#learn(outcome.mark, outcome.nowMs);
      return outcome;
    } finally {
      const touched = recordChangeOf(change.writes);
      if (touched !== null) this.#forget(touched);
    }
  }
}

/** The target of the last audit entry. A change creates the other records for the sake of that one. */
function targetOf({ entries = [] }: Change): string {
  return entries.at(-1)?.target ?? '';
}
