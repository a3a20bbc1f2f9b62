import type { AccountState } from '../../../src/core/account.ts';
import { MAX_COUNT, MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../src/core/bounds.ts';
import {
  decideSpend,
  type LedgerView,
  type RememberedAnswer,
  type Spend,
  type SpendOutcome,
} from '../../../src/core/spend.ts';

/** Counts credits and windows in memory, with the function that is the reference for every ledger of the service. */
export class FakeLedger {
  readonly #ids = new Map<string, number>();
  readonly #accounts = new Map<number, AccountState>();
  readonly #answers = new Map<string, RememberedAnswer>();

  /** The number of an account; an account that is new starts empty. */
  account(name: string, kind: AccountState['kind']): number {
    const id = this.#ids.get(name) ?? this.#ids.size + 1;
    this.#ids.set(name, id);
    if (!this.#accounts.has(id)) this.#accounts.set(id, { kind, value: 0, mark: 0, dueAtMs: 0, revision: 0 });
    return id;
  }

  state(id: number): AccountState {
    return this.#accounts.get(id) as AccountState;
  }

  set(id: number, changes: Partial<AccountState>): void {
    const state = { ...this.state(id), ...changes };
    this.#accounts.set(id, { ...state, value: Math.min(MAX_COUNT, Math.max(0, state.value)) });
  }

  spend(spend: Spend, nowMs: number): SpendOutcome {
    const view: LedgerView = {
      holds: () => true,
      account: (id) => this.#accounts.get(id),
      put: (id, state) => void this.#accounts.set(id, state),
      rememberedAnswer: ({ scope, id }) => this.#answers.get(`${scope} ${id}`),
      liveIdempotencyKeys: () => 0,
      remember: ({ scope, id }, answer) => void this.#answers.set(`${scope} ${id}`, answer),
    };
    return decideSpend(view, spend, nowMs, MAX_LIVE_IDEMPOTENCY_KEYS);
  }
}
