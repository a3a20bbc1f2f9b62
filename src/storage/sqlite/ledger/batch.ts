import { type AccountState, changed } from '../../../core/account.ts';
import type { Fence } from '../../../core/fence.ts';
import {
  decideSpend,
  type IdempotencyKey,
  type LedgerView,
  replayOf,
  type Spend,
  type SpendOutcome,
  type StoredReplay,
} from '../../../core/spend.ts';
import { effectsOf } from '../../port/writeEffects.ts';
import type { Change, ChangeOutcome } from '../../port/storage.ts';
import { tellBalances } from '../../sql/balances.ts';
import type { Accounts } from './accounts.ts';
import { BatchRevisions, type RecordRevisions } from './recordRevisions.ts';
import type { Replays, Rotation } from './idempotency.ts';
import { isCount, toEntries } from '../log/loggedAccount.ts';
import type { Commit, EventRow, ReplayRow, WindowWrite } from '../log/writer.ts';

/** A change of this adapter may also name ad-hoc windows. */
export type SqliteChange = Omit<Change, 'writes'> & {
  readonly writes: readonly (Change['writes'][number] | WindowWrite)[];
};

export type Work =
  | { readonly spend: Spend }
  | { readonly change: SqliteChange }
  | { readonly lookUp: IdempotencyKey }
  | { readonly rotateReplays: true };

/** What is durable, as it is kept in memory. */
export interface Committed {
  readonly accounts: Accounts;
  readonly replays: Replays;
  readonly revisions: RecordRevisions;
}

/** What a batch has decided on top of the committed state. Nothing outside sees it before it is durable. */
export class Batch implements LedgerView {
  readonly accounts = new Map<number, AccountState | null>();
  readonly replays = new Map<string, { key: IdempotencyKey; replay: StoredReplay }>();
  readonly #newReplaysOf = new Map<string, number>();
  readonly #writes: SqliteChange['writes'][number][] = [];
  readonly #events: EventRow[] = [];
  readonly #committed: Accounts;
  readonly #committedReplays: Replays;
  readonly #nowMs: number;
  readonly revisions: BatchRevisions;
  #mustRotate = false;
  readonly #maxLiveReplays: number;
  /** Where this batch's replays go. */
  readonly rotation: Rotation;

  constructor({ accounts, replays, revisions }: Committed, nowMs: number, maxLiveReplays: number) {
    this.#committed = accounts;
    this.#committedReplays = replays;
    this.revisions = new BatchRevisions(revisions);
    this.#nowMs = nowMs;
    this.#maxLiveReplays = maxLiveReplays;
    this.rotation = replays.rotation(nowMs);
  }

  decide(work: Work): SpendOutcome | ChangeOutcome | null {
    if ('spend' in work) return decideSpend(this, work.spend, this.#nowMs, this.#maxLiveReplays);
    if ('change' in work) return this.#applyChange(work.change);
    if ('lookUp' in work) return replayOf(this, work.lookUp);
    this.#mustRotate = this.rotation.empties;
    return null;
  }

  /** The replays' partitions are made ready with this batch. */
  get rotates(): boolean {
    return this.#mustRotate || this.replays.size > 0;
  }

  get isEmpty(): boolean {
    return this.accounts.size === 0 && this.isPlain;
  }

  /** It changes accounts at the most. */
  get isPlain(): boolean {
    return !this.rotates && this.#writes.length === 0 && this.#events.length === 0;
  }

  get changesRecords(): boolean {
    return this.#writes.length > 0;
  }

  toCommit(number: number): Commit {
    return {
      number,
      accounts: toEntries(this.accounts),
      writes: this.#writes,
      events: this.#events,
      remembered: this.rotates ? { rotation: this.rotation, answers: this.#answers() } : null,
    };
  }

  #answers(): ReplayRow[] {
    return Array.from(this.replays.values(), ({ key, replay: { requestDigest, ...outcome } }) => ({
      scope: key.scope,
      id: key.id,
      requestDigest,
      outcome: JSON.stringify(outcome),
    }));
  }

  holds(fence: Fence): boolean {
    return this.revisions.holds(fence);
  }

  account(id: number): AccountState | undefined {
    const own = this.accounts.get(id);
    return own === undefined ? this.#committed.get(id) : (own ?? undefined);
  }

  /** The guards of the table, before the commit: a state that it would refuse must not be answered. */
  put(id: number, state: AccountState): void {
    if (!isSound(state)) throw new Error(`account ${id} would get an impossible state`);
    this.accounts.set(id, state);
  }

  replay(key: IdempotencyKey): StoredReplay | undefined {
    return this.replays.get(replayName(key))?.replay ?? this.#committedReplays.find(key);
  }

  liveReplays(scope: string): number {
    return this.#committedReplays.live(scope) + (this.#newReplaysOf.get(scope) ?? 0);
  }

  remember(key: IdempotencyKey, replay: StoredReplay): void {
    this.replays.set(replayName(key), { key, replay });
    this.#newReplaysOf.set(key.scope, (this.#newReplaysOf.get(key.scope) ?? 0) + 1);
  }

  /** All accounts of the change, or none: they are decided before the first is put. */
  #applyChange(change: SqliteChange): ChangeOutcome {
    const before = change.accounts.map(({ account }) => this.account(account));
    const after: (AccountState | null)[] = [];
    for (const [i, accountChange] of change.accounts.entries()) {
      const state = changed(before[i], accountChange, this.#nowMs);
      if (state === 'stale') return { status: 'stale', nowMs: this.#nowMs };
      after.push(state);
    }
    const unsound = after.find((state) => state !== null && !isSound(state));
    if (unsound !== undefined) throw new Error('the change would make an impossible account');
    for (const [i, { account }] of change.accounts.entries()) this.accounts.set(account, after[i] ?? null);
    this.#writes.push(...change.writes);
    for (const write of change.writes) if (!isWindowWrite(write)) this.revisions.revise(effectsOf(write).revises);
    const events = tellBalances(change.events ?? [], { changes: change.accounts, before, after });
    for (const event of events) this.#events.push({ ...event, atMs: this.#nowMs });
    return { status: 'done', accounts: after, nowMs: this.#nowMs };
  }
}

/** Ad-hoc windows decide nothing. */
function isWindowWrite(write: SqliteChange['writes'][number]): write is WindowWrite {
  return write.kind === 'insertWindow' || write.kind === 'removeWindow';
}

function isSound({ value, mark, dueAtMs, revision }: AccountState): boolean {
  return isCount(value) && isCount(mark) && isCount(dueAtMs) && isCount(revision);
}

function replayName(key: IdempotencyKey): string {
  return `${key.scope}\0${key.id}`;
}
