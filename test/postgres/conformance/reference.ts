import { type AccountState } from '../../../src/core/account.ts';
import { changed, type ChangedAccount } from '../../../src/core/accountChange.ts';
import type { Pockets } from '../../../src/core/expiringCredits.ts';
import type { StatementLine } from '../../../src/core/statement.ts';
import { type AccountLine, BatchCredits } from '../../../src/storage/port/credits.ts';
import type { Fence } from '../../../src/core/fence.ts';
import {
  decideSpend,
  type IdempotencyKey,
  type LedgerView,
  type Spend,
  type SpendOutcome,
  type RememberedAnswer,
} from '../../../src/core/spend.ts';
import { type Change, type ChangeOutcome } from '../../../src/storage/port/storage.ts';

/** The ledger as its words define it: plain maps, one item after the other, the rules of core and nothing else. */
export class ReferenceLedger implements LedgerView {
  readonly accounts = new Map<number, AccountState>();
  readonly apiIds = new Set<string>();
  /** Of the one role that a scenario changes. */
  roleRevision = 0;
  readonly #credits = new BatchCredits({
    pockets: () => null,
    reservation: () => undefined,
    reservationUnder: () => undefined,
    liveReservations: () => 0,
  });
  readonly #remembered = new Map<string, RememberedAnswer>();
  readonly #maxLive: number;

  constructor(maxLive: number) {
    this.#maxLive = maxLive;
  }

  spend(spend: Spend, nowMs: number): SpendOutcome {
    return decideSpend(this, spend, nowMs, this.#maxLive);
  }

  /** All of a change or nothing. Of the records only apis are written here, and they are unique by id. */
  apply(change: Change, nowMs: number): ChangeOutcome {
    const results: ChangedAccount[] = [];
    const unsettled: number[] = [];
    for (const each of change.accounts) {
      const before = this.accounts.get(each.account);
      const result = changed(before, this.pockets(each.account), each, nowMs);
      if (result === 'stale') return { status: 'stale', nowMs };
      if (result === 'otherMark')
        return { status: 'otherMark', nowMs, mark: { account: each.account, markMs: before?.mark ?? 0 } };
      if (result === 'settleFirst') unsettled.push(each.account);
      else results.push(result);
    }
    if (unsettled.length > 0) return { status: 'settleFirst', nowMs, accounts: unsettled };
    if (this.refusesRecords(change)) return { status: 'stale', nowMs };
    for (const id of newApiIds(change)) this.apiIds.add(id);
    for (const write of change.writes) {
      if (write.kind === 'insertRole' || write.kind === 'updateRole') this.roleRevision = write.role.revision;
    }
    for (const [i, each] of change.accounts.entries()) {
      const result = results[i] as ChangedAccount;
      this.#credits.adopt(each, this.accounts.get(each.account), result);
      if (result.state === null) this.accounts.delete(each.account);
      else this.accounts.set(each.account, result.state);
    }
    return { status: 'done', accounts: results.map(({ state }) => state), nowMs };
  }

  /** An api that it creates exists already. */
  refusesRecords(change: Change): boolean {
    return newApiIds(change).some((id) => this.apiIds.has(id));
  }

  /** Everything that the statements of the accounts must say. */
  get lines(): readonly AccountLine[] {
    return this.#credits.writes.lines.toSorted((a, b) => a.account - b.account || a.line.startMs - b.line.startMs);
  }

  pockets(id: number): Pockets | null {
    return this.#credits.pockets(id);
  }

  addLines(id: number, lines: readonly StatementLine[]): void {
    this.#credits.addLines(id, lines);
  }

  readonly lastChange = 0;

  isCurrent({ revision }: Fence): boolean {
    return revision === this.roleRevision;
  }

  account(id: number): AccountState | undefined {
    return this.accounts.get(id);
  }

  put(id: number, state: AccountState): void {
    this.accounts.set(id, state);
  }

  rememberedAnswer({ scope, id }: IdempotencyKey): RememberedAnswer | undefined {
    return this.#remembered.get(JSON.stringify([scope, id]));
  }

  liveIdempotencyKeys(scope: string): number {
    return [...this.#remembered.keys()].filter((name) => (JSON.parse(name) as string[])[0] === scope).length;
  }

  remember({ scope, id }: IdempotencyKey, answer: RememberedAnswer): void {
    this.#remembered.set(JSON.stringify([scope, id]), answer);
  }
}

function newApiIds({ writes }: Change): readonly string[] {
  return writes.flatMap((write) => (write.kind === 'insertApi' ? [write.api.id] : []));
}
