import { AppError } from '../../../core/errors.ts';
import type { Change, ChangeOutcome } from '../../../storage/port/storage.ts';
import { OneAtATime } from '../../oneAtATime.ts';
import type { SendChange } from './sendChange.ts';

/** How often a change is made again after another node came first. Of three nodes that compete, each wins one try in three. */
const MAX_TRIES = 20;

type Done = ChangeOutcome & { status: 'done' };

/** A change, and the answer that its caller gets once it is done. */
interface DraftedChange<T> {
  readonly change: Change;
  readonly answer: (done: Done) => T;
}

/** Applies management changes. Each is one transaction. */
export class ApplyChange {
  readonly #sender: SendChange;
  readonly #settle: (owner: string) => Promise<void>;
  /** By target. Without it, each round of many changes of one record would let only one through. */
  readonly #queues = new OneAtATime('Too many changes of this record are waiting; nothing was changed. Try again.');

  /** `settle` applies what is due to the credits of a key or identity. */
  constructor(sender: SendChange, settle: (owner: string) => Promise<void>) {
    this.#sender = sender;
    this.#settle = settle;
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

  /** What is due comes first: reservations that have expired end at their instant, whatever the change does to their credits. */
  async #send(change: Change): Promise<ChangeOutcome> {
    const outcome = await this.#sender.send(change);
    if (outcome.status === 'done' || outcome.due === undefined) return outcome;
    await Promise.all(outcome.due.map((account) => this.#settle(ownerOf(change, account))));
    return this.#sender.send(change);
  }
}

/** The target of the last audit entry. A change creates the other records for the sake of that one. */
function targetOf({ entries = [] }: Change): string {
  return entries.at(-1)?.target ?? '';
}

function ownerOf({ accounts }: Change, account: number): string {
  const owner = accounts.find((each) => each.account === account)?.owner;
  if (owner === undefined) throw new Error(`a change of account ${account} does not name its owner`);
  return owner;
}
