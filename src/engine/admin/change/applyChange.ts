import type { RefillSchedules } from '../../refillSchedules.ts';
import type { SettlesCredits } from '../../planOf.ts';
import { MAX_AUDITED_BYTES, MAX_AUDITED_LIST_BYTES, MAX_EVENT_BYTES } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import { longValueOf } from '../../../basics/longValue.ts';
import { OneAtATime } from '../../fairTurns.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { RecordChange } from '../../../storage/port/freshness.ts';
import { inLockOrder } from '../../../storage/port/lockOrder.ts';
import type { Change, ChangeOutcome, Ledger } from '../../../storage/port/storage.ts';
import { recordChangeOf, type RecordWrite } from '../../../storage/port/writes.ts';
import { eventTypeOf, type EventType } from '../../../core/events.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { NewEvent } from '../../../storage/port/events.ts';
import type { System } from '../../platform.ts';

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
  readonly #dueCredits: SettlesCredits;
  /** By target. Without it, each round of many changes of one record would let only one through. */
  readonly #queues = new OneAtATime('Too many changes of this record are waiting; nothing was changed. Try again.');

  constructor(sender: SendChange, dueCredits: SettlesCredits) {
    this.#sender = sender;
    this.#dueCredits = dueCredits;
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
    await Promise.all(outcome.accounts.map((account) => this.#dueCredits.settle(ownerOf(change, account))));
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

/** What a node remembers. */
interface Memory {
  /** Drops what is cached of changed records. */
  forget(change: RecordChange): void;
  readonly refills: Pick<RefillSchedules, 'learn'>;
}

interface SendContext {
  readonly ledger: Ledger;
  readonly events: EventMaker;
  readonly sha256: (text: string) => string;
  readonly memory: Memory;
}

/** Sends changes to the ledger, each with the events of its audit entries. Before one is answered, this node drops what it has cached. */
export class SendChange {
  readonly #context: SendContext;

  constructor(context: SendContext) {
    this.#context = context;
  }

  /** The cache is dropped also when the outcome is unknown: the change may have happened. */
  async send(change: Change): Promise<ChangeOutcome> {
    const { ledger, events: maker, sha256, memory } = this.#context;
    try {
      const audited = change.entries ?? [];
      const events = [...maker.ofEntries(audited), ...(change.events ?? [])];
      const entries = audited.map((entry) => shortenedEntry(entry, sha256));
      const outcome = await ledger.apply({ ...change, entries, events, writes: inLockOrder(change.writes) });
      if (outcome.status === 'otherMark') memory.refills.learn(outcome.mark, outcome.nowMs);
      return outcome;
    } finally {
      const touched = recordChangeOf(change.writes);
      if (touched !== null) memory.forget(touched);
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

/** Makes events. */
export class EventMaker {
  readonly #system: System;

  constructor(system: System) {
    this.#system = system;
  }

  /** `ids` names the records that the event is about, `facts` says what happened. */
  make(type: EventType, ids: Readonly<Record<string, string>>, facts: object): NewEvent {
    return this.#written(type, ids, JSON.stringify({ ...ids, ...facts }));
  }

  /** What the audit log says of a change, as events. So no audited change of a key or an identity is without its event. */
  ofEntries(entries: readonly AuditEntry[]): NewEvent[] {
    return entries.flatMap((entry) => {
      const type = eventTypeOf(entry.action);
      return type === null ? [] : this.#ofEntry(type, entry);
    });
  }

  #ofEntry(type: EventType, { action, target, actor, requestId, before, after, ids, counter }: AuditEntry): NewEvent {
    const subject = { [`${action.split('.')[0]}Id`]: target, ...ids };
    const facts = JSON.stringify({ ...subject, actor, ...(requestId === null ? {} : { requestId }) });
    // Both are JSON already. A change of a thousand records has as many of them.
    const beforeText = before === null ? '' : `,"before":${before}`;
    const afterText = after === null ? '' : `,"after":${after}`;
    const event = this.#written(type, subject, `${facts.slice(0, -1)}${beforeText}${afterText}}`);
    return { ...event, ...(counter === undefined ? {} : { counter }) };
  }

  #written(type: EventType, ids: Readonly<Record<string, string>>, whole: string): NewEvent {
    return {
      id: makeId('evt', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES)),
      type,
      data: isTooLong(whole) ? JSON.stringify({ ...ids, truncated: true }) : whole,
    };
  }
}

/** A unit of a text has at most three bytes. */
function isTooLong(text: string): boolean {
  if (text.length * 3 <= MAX_EVENT_BYTES) return false;
  return text.length > MAX_EVENT_BYTES || new TextEncoder().encode(text).length > MAX_EVENT_BYTES;
}
