import { type AccountState, left, rolled, taken } from '../../../src/core/account.ts';
import { type AccountChange, changed } from '../../../src/core/accountChange.ts';
import { AccountBook } from '../../../src/core/accountBook.ts';
import { MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../src/core/bounds.ts';
import {
  answerUnder,
  type Charge,
  type ChargeResult,
  decideSpend,
  type IdempotencyKey,
  type LedgerView,
  type RememberedAnswer,
  type Spend,
  type SpendOutcome,
} from '../../../src/core/spend.ts';

/** How long a remembered answer lives: the default of KEYSTILE_IDEMPOTENCY_RETENTION. */
const RETENTION_MS = 3_600_000;

/** Counts credits and windows in memory, with the functions that are the reference for every ledger of the service. */
export class FakeLedger {
  readonly #ids = new Map<string, number>();
  readonly #accounts = new Map<number, AccountState>();
  /** By key, then by idempotency key, the oldest first. */
  readonly #answers = new Map<string, Map<string, RememberedAnswer>>();
  readonly #view: LedgerView = {
    isCurrent: () => true,
    lastChange: 0,
    account: (id) => this.#accounts.get(id),
    put: (id, state) => void this.#accounts.set(id, state),
    // The fake has no grants that expire, and no statements.
    pockets: () => null,
    addLines: () => undefined,
    rememberedAnswer: ({ scope, id }) => this.#answersOf(scope).get(id),
    liveIdempotencyKeys: (scope) => this.#answersOf(scope).size,
    remember: ({ scope, id }, answer) => void this.#answersOf(scope).set(id, answer),
  };

  /** The number of an account; an account that is new starts empty. */
  account(name: string, kind: AccountState['kind']): number {
    const id = this.#ids.get(name) ?? this.#ids.size + 1;
    this.#ids.set(name, id);
    const empty = { kind, value: 0, mark: 0, dueAtMs: 0, revision: 0, base: 0, segmentMs: 0 };
    if (!this.#accounts.has(id)) this.#accounts.set(id, empty);
    return id;
  }

  /** Up to where the refills of an account are applied. */
  markOf(account: number): number {
    return this.#accounts.get(account)?.mark ?? 0;
  }

  close(name: string): void {
    this.#accounts.delete(this.#ids.get(name) ?? 0);
  }

  /** Answers the new value. */
  change(
    account: number,
    by: Pick<AccountChange, 'refill' | 'set' | 'add' | 'mark' | 'dueAtMs'>,
    nowMs: number,
  ): number {
    const result = changed(this.#accounts.get(account), null, { account, expect: 0, revision: 0, ...by }, nowMs);
    if (typeof result === 'string' || result.state === null) throw new Error('the fake ledger has no such account');
    this.#accounts.set(account, result.state);
    return result.state.value;
  }

  /** What a charge would see now. */
  look({ account, rule, amount }: Charge, nowMs: number): ChargeResult & { readonly allows: boolean } {
    const stored = this.#accounts.get(account) as AccountState;
    const state =
      rule.kind === 'window'
        ? rolled(stored, rule.durationMs, nowMs)
        : new AccountBook(stored, null).upTo(rule.refill, nowMs).booked(0).state;
    return { left: left(state, rule), resetAtMs: state.mark, allows: taken(state, rule, amount) !== null };
  }

  spend(charges: readonly Charge[], idempotency: IdempotencyKey | null, nowMs: number): SpendOutcome {
    if (idempotency !== null) this.#forget(idempotency.scope, nowMs);
    const spend: Spend = { charges, fences: [], idempotency };
    return decideSpend(this.#view, spend, nowMs, MAX_LIVE_IDEMPOTENCY_KEYS);
  }

  /** The remembered answer, or a conflict; null when there is none. */
  earlierAnswer(idempotency: IdempotencyKey, nowMs: number): SpendOutcome | null {
    this.#forget(idempotency.scope, nowMs);
    return answerUnder(this.#view, idempotency);
  }

  #answersOf(scope: string): Map<string, RememberedAnswer> {
    const known = this.#answers.get(scope) ?? new Map<string, RememberedAnswer>();
    this.#answers.set(scope, known);
    return known;
  }

  #forget(scope: string, nowMs: number): void {
    const answers = this.#answersOf(scope);
    for (const [id, answer] of answers) {
      if (nowMs < answer.nowMs + RETENTION_MS) return;
      answers.delete(id);
    }
  }
}
