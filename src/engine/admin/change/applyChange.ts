import { AppError } from '../../../core/errors.ts';
import { recordChangeOf } from '../../../storage/port/writeEffects.ts';
import type { RecordChange } from '../../../storage/port/freshness.ts';
import type { Change, ChangeOutcome, Ledger } from '../../../storage/port/storage.ts';
import { OneAtATime } from './oneAtATime.ts';

/** How often a change is made anew from what another node left: of three that insist each wins one try in three. */
const MAX_TRIES = 20;

type Done = ChangeOutcome & { status: 'done' };

interface DraftedChange<T> {
  readonly change: Change;
  readonly answer: (done: Done) => T;
}

/** How management changes things: in one transaction, and from its answer on this node knows of it. */
export class ApplyChange {
  readonly #ledger: Ledger;
  readonly #forget: (change: RecordChange) => void;
  readonly #queues = new OneAtATime('Too many changes of one thing are waiting; nothing was done.');

  constructor(ledger: Ledger, forget: (change: RecordChange) => void) {
    this.#ledger = ledger;
    this.#forget = forget;
  }

  /**
   * Reads, makes a change and applies it, again from the reading when something came in between: the fields that this
   * change names win, and what the other one wrote beside them stays.
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

  /** What other nodes change meanwhile can still come in between. */
  async #applyAnew<T>(make: () => Promise<DraftedChange<T>>): Promise<T> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { change, answer } = await make();
      const outcome = await this.#send(change);
      if (outcome.status === 'done') return answer(outcome);
    }
    throw new AppError('UNAVAILABLE', 'This is being changed by others at the same time; nothing was done.');
  }

  /** A change that depends on nothing that was read. */
  async applyOnce(change: Change): Promise<void> {
    await this.apply(async () => ({ change, answer: () => undefined }));
  }

  /** One try: false when something came in between. */
  async tryOnce(change: Change): Promise<boolean> {
    return (await this.#send(change)).status === 'done';
  }

  /** Also when it is not known what became of it: what is kept in memory may be old then. */
  async #send(change: Change): Promise<ChangeOutcome> {
    try {
      return await this.#ledger.apply(change);
    } finally {
      const touched = recordChangeOf(change.writes);
      if (touched !== null) this.#forget(touched);
    }
  }
}

/** What the change is about, as the audit log tells it: of several things the last, for which the others were made. */
function targetOf({ events = [] }: Change): string {
  return events.at(-1)?.target ?? '';
}
