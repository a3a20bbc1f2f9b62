import type { AccountMark } from '../../../core/account.ts';
import { MAX_AUDITED_BYTES, MAX_AUDITED_LIST_BYTES } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import { longValueOf } from '../../../basics/longValue.ts';
import type { EventMaker } from './eventMaker.ts';
import { OneAtATime } from '../../fairTurns.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { RecordChange } from '../../../storage/port/freshness.ts';
import { inLockOrder } from '../../../storage/port/lockOrder.ts';
import type { Change, ChangeOutcome, Ledger } from '../../../storage/port/storage.ts';
import { recordChangeOf, type RecordWrite } from '../../../storage/port/writes.ts';

/** A change that is being put together. */
export interface Draft {
  readonly writes: RecordWrite[];
  readonly accounts: Change['accounts'][number][];
  readonly entries: AuditEntry[];
}

export function emptyDraft(): Draft {
  return { writes: [], accounts: [], entries: [] };
}

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
    if (outcome.status !== 'settleFirst') return outcome;
    await Promise.all(outcome.accounts.map((account) => this.#settle(ownerOf(change, account))));
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

interface SendContext {
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
      if (outcome.status === 'otherMark') learn(outcome.mark, outcome.nowMs);
      return outcome;
    } finally {
      const touched = recordChangeOf(change.writes);
      if (touched !== null) forget(touched);
    }
  }
}

type Digest = (text: string) => string;

/** What users keep at a record, for themselves. Nothing is decided by it. */
const METADATA = 'meta';

/**
 * The entry as the log keeps it: long metadata, wherever it is, is a digest with its length, and so is a list of a length that only many
 * requests together can make. Everything else stays, such as the rights of a root key and the URL of a webhook: whoever does harm must not
 * be able to make it unreadable. Events have the whole values.
 */
export function shortenedEntry(entry: AuditEntry, sha256: Digest): AuditEntry {
  const [before, after] = [shortened(entry.before, sha256), shortened(entry.after, sha256)];
  return before === entry.before && after === entry.after ? entry : { ...entry, before, after };
}

function shortened(text: string | null, sha256: Digest): string | null {
  // Most entries are short as a whole, and have nothing that looks like a digest.
  if (text === null || (text.length * 3 <= MAX_AUDITED_BYTES && !text.includes('"sha256"'))) return text;
  return JSON.stringify(shortValue(JSON.parse(text), sha256));
}

function shortValue(value: unknown, sha256: Digest): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => shortValue(item, sha256));
    return longValueOf(items, MAX_AUDITED_LIST_BYTES, sha256) === null
      ? items
      : longValueOf(value, MAX_AUDITED_LIST_BYTES, sha256);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      name === METADATA ? (longValueOf(member, MAX_AUDITED_BYTES, sha256) ?? member) : shortValue(member, sha256),
    ]),
  );
}
