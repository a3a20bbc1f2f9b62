import type { AccountState } from '../../src/core/account.ts';
import type { LedgerView, SpendOutcome, RememberedAnswer } from '../../src/core/spend.ts';

/** Plain maps. */
export class View implements LedgerView {
  readonly accounts = new Map<number, AccountState>();
  readonly remembered = new Map<string, RememberedAnswer>();

  /** No fences are drawn here. */
  holds(): boolean {
    return true;
  }

  account(id: number): AccountState | undefined {
    return this.accounts.get(id);
  }

  put(id: number, state: AccountState): void {
    this.accounts.set(id, state);
  }

  rememberedAnswer({ scope, id }: { scope: string; id: string }): RememberedAnswer | undefined {
    return this.remembered.get(`${scope}/${id}`);
  }

  liveIdempotencyKeys(scope: string): number {
    return [...this.remembered.keys()].filter((name) => name.startsWith(`${scope}/`)).length;
  }

  remember({ scope, id }: { scope: string; id: string }, answer: RememberedAnswer): void {
    this.remembered.set(`${scope}/${id}`, answer);
  }

  /** A copy that shares nothing with this one. */
  clone(): View {
    const copy = new View();
    for (const [id, state] of this.accounts) copy.accounts.set(id, state);
    for (const [id, answer] of this.remembered) copy.remembered.set(id, answer);
    return copy;
  }
}

export function credits(value: number, mark = 0): AccountState {
  return { kind: 'credits', value, mark, dueAtMs: 0, revision: 1 };
}

/** Taken now, not answered from before. */
export function isCharge(outcome: SpendOutcome): boolean {
  return outcome.status === 'taken' && !outcome.replayed;
}
