import type { AccountState, RefillSchedule } from '../../src/core/account.ts';
import { AccountBook } from '../../src/core/accountBook.ts';
import type { Fence } from '../../src/core/fence.ts';
import type { Pockets } from '../../src/core/expiringCredits.ts';
import type { StatementLine } from '../../src/core/statement.ts';
import type { LedgerView, SpendOutcome, RememberedAnswer } from '../../src/core/spend.ts';

/** Plain maps. */
export class View implements LedgerView {
  readonly accounts = new Map<number, AccountState>();
  readonly remembered = new Map<string, RememberedAnswer>();
  readonly lines: { account: number; line: StatementLine }[] = [];

  readonly lastChange: number = 0;

  /** No fences are drawn here. */
  isCurrent(_fence: Fence): boolean {
    return true;
  }

  account(id: number): AccountState | undefined {
    return this.accounts.get(id);
  }

  pockets(): Pockets | null {
    return null;
  }

  addLines(account: number, lines: readonly StatementLine[]): void {
    this.lines.push(...lines.map((line) => ({ account, line })));
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
  return { kind: 'credits', value, mark, dueAtMs: 0, revision: 1, base: value, segmentMs: 0 };
}

export function emptyWindow(): AccountState {
  return { kind: 'window', value: 0, mark: 0, dueAtMs: 0, revision: 1, base: 0, segmentMs: 0 };
}

/** The account at the beginning of a plan's epoch. */
export function refilled(state: AccountState, plan: RefillSchedule | null): AccountState {
  return new AccountBook(state, null).upTo(plan, plan?.startMs ?? 0).booked(state.revision).state;
}

/** Taken now, not answered from before. */
export function isCharge(outcome: SpendOutcome): boolean {
  return outcome.status === 'taken' && !outcome.replayed;
}
