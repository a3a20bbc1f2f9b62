import { type AccountState, changed, markBeside } from '../../../core/account.ts';
import type { Fence } from '../../../core/fence.ts';
import {
  decideSpend,
  type IdempotencyKey,
  type LedgerView,
  answerUnder,
  type Spend,
  type SpendOutcome,
  type RememberedAnswer,
} from '../../../core/spend.ts';
import { effectsOf } from '../../port/writeEffects.ts';
import { type Change, type ChangeOutcome, toStale } from '../../port/storage.ts';
import { withBalances, withEventBalances } from '../../sql/balances.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { BatchRevisions, type RecordRevisions } from './recordRevisions.ts';
import type { Idempotency } from './idempotency.ts';
import type { Rotation } from '../writer/commit.ts';
import { isCount, toLoggedAccounts } from '../log/loggedAccount.ts';
import type { Commit, EntryRow, EventRow, AnswerRow, WindowWrite } from '../writer/commit.ts';

/** A change of this adapter may also name ad-hoc windows. */
export type SqliteChange = Omit<Change, 'writes'> & {
  readonly writes: readonly (Change['writes'][number] | WindowWrite)[];
};

export type Work =
  | { readonly spend: Spend }
  | { readonly change: SqliteChange }
  | { readonly lookUp: IdempotencyKey }
  | { readonly rotateIdempotency: true };

/** What is durable, as memory has it. */
export interface Committed {
  readonly accounts: Accounts;
  readonly idempotency: Idempotency;
  readonly revisions: RecordRevisions;
}

/** What a batch has decided, on top of the committed state. Nobody else sees it before it is durable. */
export class Batch implements LedgerView {
  readonly accounts = new Map<number, AccountState | null>();
  /** Answers to remember under idempotency keys. */
  readonly answers = new Map<string, { key: IdempotencyKey; answer: RememberedAnswer }>();
  readonly #newAnswersOf = new Map<string, number>();
  readonly #writes: SqliteChange['writes'][number][] = [];
  readonly #entries: EntryRow[] = [];
  readonly #events: EventRow[] = [];
  readonly #committed: Accounts;
  readonly #idempotency: Idempotency;
  readonly #nowMs: number;
  readonly revisions: BatchRevisions;
  #mustRotate = false;
  readonly #maxLiveAnswers: number;
  /** Which partition the answers of this batch go to. */
  readonly rotation: Rotation;

  constructor({ accounts, idempotency, revisions }: Committed, nowMs: number, maxLiveAnswers: number) {
    this.#committed = accounts;
    this.#idempotency = idempotency;
    this.revisions = new BatchRevisions(revisions);
    this.#nowMs = nowMs;
    this.#maxLiveAnswers = maxLiveAnswers;
    this.rotation = idempotency.rotation(nowMs);
  }

  decide(work: Work): SpendOutcome | ChangeOutcome | null {
    if ('spend' in work) return decideSpend(this, work.spend, this.#nowMs, this.#maxLiveAnswers);
    if ('change' in work) return this.#applyChange(work.change);
    if ('lookUp' in work) return answerUnder(this, work.lookUp);
    this.#mustRotate = this.rotation.empties;
    return null;
  }

  /** This batch makes the partitions of idempotency ready. */
  get rotates(): boolean {
    return this.#mustRotate || this.answers.size > 0;
  }

  get isEmpty(): boolean {
    return this.accounts.size === 0 && this.isPlain;
  }

  /** It only spends: no records, no entries, no events, no remembered answers. */
  get isPlain(): boolean {
    return !this.rotates && [this.#writes, this.#entries, this.#events].every((list) => list.length === 0);
  }

  get changesRecords(): boolean {
    return this.#writes.length > 0;
  }

  toCommit(number: number): Commit {
    return {
      number,
      accounts: toLoggedAccounts(this.accounts),
      writes: this.#writes,
      entries: this.#entries,
      events: this.#events,
      remembered: this.rotates ? { rotation: this.rotation, answers: this.#answerRows() } : null,
    };
  }

  #answerRows(): AnswerRow[] {
    return Array.from(this.answers.values(), ({ key, answer: { requestDigest, ...outcome } }) => ({
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

  /** Checks what the table checks, before the commit: a state that the table refuses must not be answered. */
  put(id: number, state: AccountState): void {
    if (!isSound(state)) throw new Error(`account ${id} would get an impossible state`);
    this.accounts.set(id, state);
  }

  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined {
    return this.answers.get(answerName(key))?.answer ?? this.#idempotency.find(key);
  }

  liveIdempotencyKeys(scope: string): number {
    return this.#idempotency.live(scope) + (this.#newAnswersOf.get(scope) ?? 0);
  }

  remember(key: IdempotencyKey, answer: RememberedAnswer): void {
    this.answers.set(answerName(key), { key, answer });
    this.#newAnswersOf.set(key.scope, (this.#newAnswersOf.get(key.scope) ?? 0) + 1);
  }

  /** All accounts of the change, or none: all are decided before the first is put. */
  #applyChange(change: SqliteChange): ChangeOutcome {
    const before = change.accounts.map(({ account }) => this.account(account));
    const after: (AccountState | null)[] = [];
    for (const [i, accountChange] of change.accounts.entries()) {
      const state = changed(before[i], accountChange, this.#nowMs);
      if (state === 'stale') return toStale(this.#nowMs, markBeside(accountChange, before[i]));
      after.push(state);
    }
    const unsound = after.find((state) => state !== null && !isSound(state));
    if (unsound !== undefined) throw new Error('the change would make an impossible account');
    for (const [i, { account }] of change.accounts.entries()) this.accounts.set(account, after[i] ?? null);
    this.#writes.push(...change.writes);
    for (const write of change.writes) if (!isWindowWrite(write)) this.revisions.revise(effectsOf(write).revises);
    const known = { changes: change.accounts, before, after };
    for (const event of withEventBalances(change.events ?? [], known))
      this.#events.push({ ...event, atMs: this.#nowMs });
    for (const entry of withBalances(change.entries ?? [], known)) this.#entries.push({ ...entry, atMs: this.#nowMs });
    return { status: 'done', accounts: after, nowMs: this.#nowMs };
  }
}

/** An ad-hoc window has no revision that a fence could name. */
function isWindowWrite(write: SqliteChange['writes'][number]): write is WindowWrite {
  return write.kind === 'insertWindow' || write.kind === 'removeWindow';
}

function isSound({ value, mark, dueAtMs, revision }: AccountState): boolean {
  return isCount(value) && isCount(mark) && isCount(dueAtMs) && isCount(revision);
}

function answerName(key: IdempotencyKey): string {
  return `${key.scope}\0${key.id}`;
}
