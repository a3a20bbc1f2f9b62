import { left, rolled, taken } from '../../../src/core/account.js';
import { AccountBook } from '../../../src/core/accountBook.js';
import { changed } from '../../../src/core/accountChange.js';
import { MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../src/core/bounds.js';
import { answerUnder, decideSpend } from '../../../src/core/spend.js';
/** How long a remembered answer lives: the default of KEYSTILE_IDEMPOTENCY_RETENTION. */
const RETENTION_MS = 3_600_000;
/** Counts credits and windows in memory, with the functions that are the reference for every ledger of the service. */
export class FakeLedger {
  #ids = new Map();
  #accounts = new Map();
  /** By key, then by idempotency key, the oldest first. */
  #answers = new Map();
  #view = {
    holds: () => true,
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
  account(name, kind) {
    const id = this.#ids.get(name) ?? this.#ids.size + 1;
    this.#ids.set(name, id);
    const empty = { kind, value: 0, mark: 0, dueAtMs: 0, revision: 0, base: 0, segmentMs: 0 };
    if (!this.#accounts.has(id)) this.#accounts.set(id, empty);
    return id;
  }
  /** Up to where the refills of an account are applied. */
  markOf(account) {
    return this.#accounts.get(account)?.mark ?? 0;
  }
  close(name) {
    this.#accounts.delete(this.#ids.get(name) ?? 0);
  }
  /** Answers the new value. */
  change(account, by, nowMs) {
    const result = changed(this.#accounts.get(account), null, { account, expect: 0, revision: 0, ...by }, nowMs);
    if (result === 'stale' || result.state === null) throw new Error('the fake ledger has no such account');
    this.#accounts.set(account, result.state);
    return result.state.value;
  }
  /** What a charge would see now. */
  look({ account, rule, amount }, nowMs) {
    const stored = this.#accounts.get(account);
    const state =
      rule.kind === 'window'
        ? rolled(stored, rule.durationMs, nowMs)
        : new AccountBook(stored, null).upTo(rule.refill, nowMs).booked(0).state;
    return { left: left(state, rule), resetAtMs: state.mark, allows: taken(state, rule, amount) !== null };
  }
  spend(charges, idempotency, nowMs) {
    if (idempotency !== null) this.#forget(idempotency.scope, nowMs);
    const spend = { charges, fences: [], idempotency };
    return decideSpend(this.#view, spend, nowMs, MAX_LIVE_IDEMPOTENCY_KEYS);
  }
  /** The remembered answer, or a conflict; null when there is none. */
  earlierAnswer(idempotency, nowMs) {
    this.#forget(idempotency.scope, nowMs);
    return answerUnder(this.#view, idempotency);
  }
  #answersOf(scope) {
    const known = this.#answers.get(scope) ?? new Map();
    this.#answers.set(scope, known);
    return known;
  }
  #forget(scope, nowMs) {
    const answers = this.#answersOf(scope);
    for (const [id, answer] of answers) {
      if (nowMs < answer.nowMs + RETENTION_MS) return;
      answers.delete(id);
    }
  }
}
