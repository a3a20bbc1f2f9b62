import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { RefillSchedule } from '../../src/core/account.ts';
import { AccountBook } from '../../src/core/accountBook.ts';
import { MAX_COUNT } from '../../src/core/bounds.ts';
import { nextDue } from '../../src/engine/dueCredits.ts';
import { planRefill } from '../../src/core/plan.ts';
import { sumOf, type Pockets } from '../../src/core/expiringCredits.ts';
import {
  decideEnd,
  decideReserve,
  type Ending,
  type Reservation,
  type ReservationView,
} from '../../src/core/reservation.ts';
import { DAY_MS, dayStartOf, joinedLine, type StatementLine } from '../../src/core/statement.ts';
import { decideSpend, type Spend } from '../../src/core/spend.ts';
import { View } from './ledgerView.ts';

/** Plain maps, with pockets and reservations. */
class CreditsView extends View implements ReservationView {
  readonly #pockets = new Map<number, Pockets>();
  readonly reservations = new Map<string, Reservation>();
  onLines: (lines: readonly StatementLine[]) => void = () => {};

  override pockets(id?: number): Pockets | null {
    return this.#pockets.get(id ?? 0) ?? null;
  }

  override addLines(_account: number, lines: readonly StatementLine[]): void {
    this.onLines(lines);
  }

  putPockets(id: number, pockets: Pockets | null): void {
    if (pockets === null) this.#pockets.delete(id);
    else this.#pockets.set(id, pockets);
  }

  reservation(id: string): Reservation | undefined {
    return this.reservations.get(id);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    return [...this.reservations.values()].find(
      (each) => each.keyId === keyId && each.idempotency?.id === idempotencyId,
    );
  }

  liveReservations(keyId: string): number {
    return [...this.reservations.values()].filter((each) => each.keyId === keyId && each.state === 'held').length;
  }

  putReservation(reservation: Reservation): void {
    this.reservations.set(reservation.id, reservation);
  }
}

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const START_MS = Date.parse('2026-01-30T12:00:00Z');
const HOUR_MS = DAY_MS / 24;
const ACCOUNT = 1;
const RULE = {
  interval: 'daily',
  refillDay: null,
  refillWeekday: null,
  timezone: 'UTC',
  mode: 'restore',
  amount: 25,
  max: null,
  sinceMs: 0,
} as const;

const amount = fc.nat({ max: 30 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ spend: amount }) },
  {
    weight: 3,
    arbitrary: fc.record({ reserve: fc.integer({ min: 1, max: 30 }), ttlHours: fc.integer({ min: 1, max: 24 }) }),
  },
  { weight: 3, arbitrary: fc.record({ settle: amount, which: fc.nat({ max: 4 }), allowOverage: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ release: fc.nat({ max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ grant: amount, hours: fc.option(fc.integer({ min: 1, max: 40 })) }) },
  { weight: 1, arbitrary: fc.record({ adjust: fc.oneof(fc.integer({ min: -40, max: 40 }), fc.constant(MAX_COUNT)) }) },
  { weight: 2, arbitrary: fc.record({ passHours: fc.integer({ min: 1, max: 30 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** One account of credits with a daily refill, as the ledger and the sweep treat it. */
class Account {
  readonly view = new CreditsView();
  readonly made: Reservation[] = [];
  readonly #lines = new Map<number, StatementLine>();
  nowMs = START_MS;
  spent = 0;
  #names = 0;

  constructor(balance: number) {
    this.view.onLines = (lines) => this.#adopt(lines);
    this.#book(AccountBook.open(START_MS, dayStartOf(START_MS), 0).set(balance));
  }

  #planAt(atMs: number): RefillSchedule {
    return planRefill(RULE, this.view.account(ACCOUNT)?.mark ?? 0, atMs);
  }

  play(drawn: Step): void {
    if ('passHours' in drawn) this.nowMs += drawn.passHours * HOUR_MS;
    this.#sweep();
    if ('spend' in drawn) this.#spend(drawn.spend);
    if ('reserve' in drawn) this.#reserve(drawn.reserve, drawn.ttlHours * HOUR_MS);
    if ('settle' in drawn)
      this.#end(this.#idOf(drawn.which), { kind: 'settle', cost: drawn.settle, allowOverage: drawn.allowOverage });
    if ('release' in drawn) this.#end(this.#idOf(drawn.release), { kind: 'release' });
    if ('grant' in drawn) {
      const expiresAtMs = drawn.hours === null ? null : this.nowMs + drawn.hours * HOUR_MS;
      this.#change((book) => book.grant(`grant ${++this.#names}`, drawn.grant, expiresAtMs));
    }
    if ('adjust' in drawn) this.#change((book) => book.adjust(drawn.adjust));
  }

  /** All lines, the running one as a reader sees it. */
  get lines(): StatementLine[] {
    const state = this.view.account(ACCOUNT);
    if (state === undefined) return [];
    const [held, running] = [this.held, this.#lines.get(state.segmentMs)];
    const spent = state.base - state.value;
    const part: StatementLine = {
      startMs: state.segmentMs,
      periodMs: state.mark,
      opening: state.base + held,
      granted: 0,
      refilled: 0,
      adjusted: 0,
      spent,
      expired: 0,
      closing: state.value + held,
      held,
    };
    const closed = [...this.#lines.values()].filter(({ startMs }) => startMs !== state.segmentMs);
    return [...closed, running === undefined ? part : joinedLine(running, part)].sort((a, b) => a.startMs - b.startMs);
  }

  get value(): number {
    return this.view.account(ACCOUNT)?.value ?? NaN;
  }

  /** What reservations held when a line ended at this instant. */
  heldAt(atMs: number): number {
    const made = this.made.flatMap(({ id }) => this.view.reservation(id) ?? []);
    const then = made.filter(({ createdAtMs, endedAtMs }) => createdAtMs < atMs && (endedAtMs ?? Infinity) >= atMs);
    return then.reduce((sum, { cost }) => sum + cost, 0);
  }

  get held(): number {
    return this.view.pockets(ACCOUNT)?.held ?? 0;
  }

  #spend(by: number): void {
    const outcome = decideSpend(this.view, this.#toSpend(by), this.nowMs, 10);
    expect(['taken', 'refused']).toContain(outcome.status);
    if (outcome.status === 'taken') this.spent += by;
  }

  #reserve(cost: number, ttlMs: number): void {
    const wanted = { id: `rsv_${++this.#names}`, keyId: 'key_1', apiId: 'api_1', identityId: null, cost, ttlMs };
    const terms = {
      onExpiry: cost % 2 === 0 ? 'charge' : 'release',
      idempotency: null,
      counted: { tags: null, identityId: null },
      metered: [],
      following: [],
      isOnlyFound: false,
    } as const;
    const { spend, reservation } = decideReserve(
      this.view,
      this.#toSpend(cost),
      { ...wanted, ...terms },
      this.nowMs,
      100,
    );
    expect(['taken', 'refused']).toContain(spend.status);
    if (reservation !== null) this.made.push(reservation);
  }

  #idOf(which: number): string {
    return this.made[which]?.id ?? 'none';
  }

  #end(id: string, ending: Ending): void {
    const outcome = decideEnd(this.view, id, ending, this.nowMs);
    expect(outcome.status).not.toBe('settleFirst');
    if (outcome.status === 'done') this.spent += outcome.reservation.charged;
  }

  #toSpend(by: number): Spend {
    const rule = { kind: 'credits', refill: this.#planAt(this.nowMs) } as const;
    return { charges: [{ account: ACCOUNT, amount: by, rule, revision: 1 }], fences: [], idempotency: null };
  }

  /** Applies what is due in its order, as the sweep does. */
  #sweep(): void {
    for (;;) {
      const held = this.made
        .filter(({ id }) => this.view.reservation(id)?.state === 'held')
        .toSorted((a, b) => a.expiresAtMs - b.expiresAtMs);
      const markMs = this.view.account(ACCOUNT)?.mark ?? 0;
      const due = nextDue({ markMs, rules: RULE, movesAtMs: null, held }, this.nowMs);
      const next = (book: AccountBook): AccountBook => book.heldUntil(held[0]?.expiresAtMs ?? 0);
      if (due.kind === 'rest') return this.#change(next);
      if (due.kind === 'refill') this.#change(next, due.atMs);
      if (due.kind === 'expire')
        for (const { id } of held.slice(0, due.count))
          this.#end(id, { kind: 'expire', marks: [{ account: ACCOUNT, markMs }] });
    }
  }

  #change(act: (book: AccountBook) => AccountBook, atMs = this.nowMs): void {
    const state = this.view.account(ACCOUNT);
    if (state === undefined) throw new Error('the account is not there');
    const plan = this.#planAt(atMs);
    const book = act(new AccountBook(state, this.view.pockets(ACCOUNT)).upTo(plan, atMs));
    this.#book(book.reschedule(undefined, plan.nextMs, atMs));
  }

  #book(book: AccountBook): void {
    const { state, pockets, lines } = book.booked(1);
    this.view.put(ACCOUNT, state);
    this.view.putPockets(ACCOUNT, pockets);
    this.#adopt(lines);
  }

  #adopt(lines: readonly StatementLine[]): void {
    for (const line of lines) {
      const known = this.#lines.get(line.startMs);
      this.#lines.set(line.startMs, known === undefined ? line : joinedLine(known, line));
    }
  }
}

/** What a line must close with. On the way there the sum can be larger than a number can be. */
function sumOfLine({ opening, granted, refilled, adjusted, spent, expired }: StatementLine): number {
  const came = [opening, granted, refilled, adjusted, -spent, -expired].reduce((sum, each) => sum + BigInt(each), 0n);
  return Number(came);
}

function expectRight(account: Account): void {
  const { lines, value, held, view } = account;
  expect(value).toBeGreaterThanOrEqual(0);
  const holding = account.made.filter(({ id }) => view.reservation(id)?.state === 'held');
  expect(held).toBe(holding.reduce((sum, { cost }) => sum + cost, 0));
  expect(sumOf(view.pockets(ACCOUNT)?.grants ?? [])).toBeLessThanOrEqual(value + account.spent);
  // Larger than a number can be, when a balance was often set to the most.
  const total = { granted: 0n, refilled: 0n, adjusted: 0n, spent: 0n, expired: 0n };
  let before = 0;
  for (const line of lines) {
    const { opening, granted, refilled, spent, expired, closing } = line;
    expect([line.startMs, closing]).toEqual([line.startMs, sumOfLine(line)]);
    expect([line.startMs, opening]).toEqual([line.startMs, before]);
    expect(Math.min(granted, refilled, spent, expired, line.held)).toBeGreaterThanOrEqual(0);
    before = closing;
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += BigInt(line[name]);
  }
  expect(before).toBe(value + held);
  expect(lines.at(-1)?.held ?? 0).toBe(held);
  expect(total.spent).toBe(BigInt(account.spent));
  expect(BigInt(value + held) + total.spent + total.expired).toBe(total.granted + total.refilled + total.adjusted);
}

/** The row of the day is written while something is held, and nothing happens after it is released. */
const HELD_THEN_NOT: Step[] = [
  { reserve: 5, ttlHours: 24 },
  { grant: 3, hours: null },
  { release: 0 },
  { passHours: 30 },
];

test('through spends, grants, reservations, refills and expiries every line adds up, and so does all that came in', () => {
  fc.assert(
    fc.property(fc.nat({ max: 60 }), fc.array(step, { maxLength: 40 }), (balance, steps) => {
      const account = new Account(balance);
      for (const each of steps) {
        account.play(each);
        expectRight(account);
        // The last line of a day tells what was held at its end.
        for (const [i, { held }] of account.lines.slice(0, -1).entries()) {
          const endMs = account.lines[i + 1]?.startMs ?? 0;
          if (endMs % DAY_MS === 0) expect(held).toBe(account.heldAt(endMs));
        }
      }
    }),
    { seed, numRuns: 500, examples: [[50, HELD_THEN_NOT]] },
  );
});
