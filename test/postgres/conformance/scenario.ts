import * as fc from 'fast-check';

import type { RefillSchedule } from '../../../src/core/account.ts';
import type { AccountChange } from '../../../src/core/accountChange.ts';
import { DAY_MS } from '../../../src/core/statement.ts';
import { recordFence } from '../../../src/core/fence.ts';
import type { RoleRecord } from '../../../src/model/access.ts';
import type { Charge, Spend } from '../../../src/core/spend.ts';
import type { Change } from '../../../src/storage/port/storage.ts';
import type { ReferenceLedger } from './reference.ts';
import { api, role } from './samples.ts';

/** What the accounts of a scenario are, by their place. */
export const KINDS = ['credits', 'credits', 'credits', 'window', 'window'] as const;

/** Short enough that a few moves of the clock cross many boundaries. */
const EPOCH_MS = 1_000;

const anyDurationMs = fc.constantFrom(700, 1_000, 5_000);
const anyPlace = fc.nat({ max: KINDS.length - 1 });
/** Seldom true: most of what a ledger is asked is in order, and one wrong charge hides all the others. */
const seldom = fc.nat({ max: 39 }).map((n) => n === 0);

const refill = fc.option(
  fc.record({
    amount: fc.integer({ min: 1, max: 9 }),
    mode: fc.constantFrom('restore', 'add'),
    max: fc.option(fc.integer({ min: 1, max: 12 })),
    isOfAnotherEpoch: seldom,
    isOfAnotherMark: seldom,
    /** Boundaries of a second rule. */
    second: fc.option(
      fc.record({
        mode: fc.constantFrom('restore', 'add'),
        amount: fc.integer({ min: 1, max: 9 }),
        max: fc.option(fc.integer({ min: 1, max: 12 })),
        times: fc.nat({ max: 3 }),
      }),
      { freq: 2 },
    ),
  }),
);

const charge = fc.record({
  place: anyPlace,
  amount: fc.constantFrom(0, 1, 1, 1, 2, 3, 7),
  limit: fc.constantFrom(1, 3, 10),
  durationMs: anyDurationMs,
  refill,
  isOfAnotherRevision: seldom,
  isOfAnotherKind: seldom,
});

const spend = fc.record({
  /** Half of them have one charge: without an idempotency key these are plain spends. */
  charges: fc.oneof(fc.tuple(charge), fc.array(charge, { minLength: 2, maxLength: 4 })),
  /** Of the scenario's role: as it is, or as it was before its last change. */
  fence: fc.option(fc.record({ isOld: seldom }), { freq: 2 }),
  idempotency: fc.option(fc.record({ id: fc.nat({ max: 5 }), request: fc.constantFrom('a', 'a', 'a', 'b') }), {
    freq: 2,
  }),
});

const accountChange = fc.record({
  place: anyPlace,
  action: fc.constantFrom('set', 'set', 'add', 'add', 'touch', 'rule', 'rule', 'close', 'open'),
  number: fc.integer({ min: -10, max: 20 }),
  refill,
  isRevised: fc.boolean(),
  isOfAnotherRevision: seldom,
});

const change = fc.record({
  accounts: fc.uniqueArray(accountChange, { maxLength: 3, selector: (each) => each.place }),
  /** Few names: the second of a name is refused by the database itself, and spoils the batch it is in. */
  api: fc.option(fc.nat({ max: 3 }), { freq: 2 }),
  isOfRole: fc.boolean(),
});

/** One call of the ledger. A late one arrives in another turn of the event loop: during a commit, or after it. */
const call = fc.oneof(
  { weight: 5, arbitrary: fc.record({ spends: fc.array(spend, { minLength: 1, maxLength: 6 }), isLate: seldom }) },
  { weight: 2, arbitrary: fc.record({ change, isLate: seldom }) },
);

export const rounds = fc.array(
  fc.record({
    moveMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: -4_000, max: 0 }),
      // Into another day of the statement.
      fc.constantFrom(DAY_MS, 3 * DAY_MS + 700),
    ),
    /** Given in every second round: to the instant at which a window of this duration ends, instead of moving. */
    toEndOfMs: fc.option(anyDurationMs, { freq: 2 }),
    items: fc.array(call, { minLength: 1, maxLength: 8 }),
  }),
  { minLength: 1, maxLength: 5 },
);

type Value<T> = T extends fc.Arbitrary<infer V> ? V : never;
export type Round = Value<typeof rounds>[number];
type Item = Value<typeof call>;
type Work = { readonly spends: readonly Spend[] } | { readonly change: Change };

/** Turns drawn choices into calls that mostly fit the state they meet, which the reference knows. */
export class Scenario {
  readonly #name: string;
  readonly #accounts: readonly number[];
  readonly #reference: ReferenceLedger;
  #hasBegun = false;
  /** Records are not claimed by the fences of spends: what is asked before a change is answered may come before or after it. */
  #isRoleChanging = false;
  #isFenced = false;

  constructor(name: string, accounts: readonly number[], reference: ReferenceLedger) {
    this.#name = name;
    this.#accounts = accounts;
    this.#reference = reference;
  }

  /** All calls until now are answered. */
  beginRound(): void {
    this.#isRoleChanging = false;
    this.#isFenced = false;
  }

  /** The first call opens all accounts. */
  toWork(item: Item, nowMs: number): Work {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#isRoleChanging = true;
      const writes = [{ kind: 'insertRole' as const, role: this.#role(1) }];
      return { change: { writes, accounts: KINDS.map((open, i) => this.#opening(i, open, nowMs)) } };
    }
    if ('change' in item) return { change: this.#toChange(item.change, nowMs) };
    return { spends: item.spends.map((each) => this.#toSpend(each, nowMs)) };
  }

  #opening(place: number, open: 'credits' | 'window', nowMs: number): AccountChange {
    const rule = open === 'credits' ? { set: 10, mark: startOf(nowMs) } : {};
    return { account: this.#account(place), expect: 0, open, refill: null, revision: 1, ...rule };
  }

  #toSpend({ charges, fence, idempotency }: Value<typeof spend>, nowMs: number): Spend {
    const revision = this.#reference.roleRevision - (fence?.isOld ? 1 : 0);
    const isFenced = fence !== null && !this.#isRoleChanging;
    this.#isFenced ||= isFenced;
    return {
      charges: charges.map((each) => this.#toCharge(each, nowMs)),
      fences: isFenced ? [recordFence('role', this.#role(0).id, revision)] : [],
      idempotency: idempotency && {
        // Of another day: by then an adapter may have forgotten its answers.
        scope: `${this.#name} ${idempotency.id % 2} ${Math.floor(nowMs / DAY_MS)}`,
        id: `id ${idempotency.id}`,
        requestDigest: idempotency.request,
      },
    };
  }

  #toCharge(drawn: Value<typeof charge>, nowMs: number): Charge {
    const account = this.#account(drawn.place);
    const isCredits = (KINDS[drawn.place] === 'credits') !== drawn.isOfAnotherKind;
    return {
      account,
      amount: drawn.amount,
      rule: isCredits
        ? { kind: 'credits', refill: toPlan(drawn.refill, this.#mark(account), nowMs) }
        : { kind: 'window', limit: drawn.limit, durationMs: drawn.durationMs },
      revision: this.#revision(account) + (drawn.isOfAnotherRevision ? 1 : 0),
    };
  }

  #toChange(drawn: Value<typeof change>, nowMs: number): Change {
    const name = drawn.api === null ? [] : [`${this.#name} ${drawn.api}`];
    const expect = this.#reference.roleRevision;
    const changesRole = drawn.isOfRole && !this.#isRoleChanging && !this.#isFenced;
    this.#isRoleChanging ||= changesRole;
    const changed = { kind: 'updateRole' as const, role: this.#role(expect + 1), expect };
    return {
      writes: [...name.map((id) => ({ kind: 'insertApi' as const, api: api(id) })), ...(changesRole ? [changed] : [])],
      accounts: drawn.accounts.map((each) => this.#toAccountChange(each, nowMs)),
    };
  }

  #toAccountChange(drawn: Value<typeof accountChange>, nowMs: number): AccountChange {
    const account = this.#account(drawn.place);
    const revision = this.#revision(account);
    const common = {
      account,
      expect: revision + (drawn.isOfAnotherRevision ? 1 : 0),
      refill: toPlan(drawn.refill, this.#mark(account), nowMs),
      revision: revision + (drawn.isRevised ? 1 : 0),
    };
    // What was closed is opened again; otherwise the scenario would soon be over.
    if (drawn.action === 'open' || !this.#reference.accounts.has(account)) {
      return { ...common, open: KINDS[drawn.place] ?? 'credits', set: Math.abs(drawn.number) };
    }
    switch (drawn.action) {
      case 'set':
        return { ...common, set: Math.abs(drawn.number) };
      case 'add':
        return { ...common, add: drawn.number };
      case 'rule':
        return { ...common, mark: startOf(nowMs), dueAtMs: nowMs + EPOCH_MS };
      case 'close':
        return { ...common, close: true };
      case 'touch':
        return common;
    }
  }

  #role(revision: number): RoleRecord {
    return role(`role ${this.#name}`, `role ${this.#name}`, { revision });
  }

  #account(place: number): number {
    return this.#accounts[place] ?? 0;
  }

  #mark(account: number): number {
    return this.#reference.accounts.get(account)?.mark ?? 0;
  }

  #revision(account: number): number {
    return this.#reference.accounts.get(account)?.revision ?? 1;
  }
}

/** From the mark that the account has when it is planned: an earlier call of the same round may move it. */
function toPlan(drawn: Value<typeof refill>, markMs: number, nowMs: number): RefillSchedule | null {
  if (drawn === null) return null;
  const { amount, mode, max } = drawn;
  const startMs = startOf(nowMs) + (drawn.isOfAnotherEpoch ? EPOCH_MS : 0);
  const fromMs = markMs + (drawn.isOfAnotherMark ? 1 : 0);
  const times = Math.max(0, Math.ceil((startMs - fromMs) / EPOCH_MS));
  const nextMs = startMs + EPOCH_MS;
  return {
    startMs,
    nextMs,
    fromMs,
    steps: [{ mode, amount, max, times }, ...(drawn.second === null ? [] : [drawn.second])],
  };
}

function startOf(nowMs: number): number {
  return Math.floor(nowMs / EPOCH_MS) * EPOCH_MS;
}
