import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { Charge } from '../../../src/core/spend.ts';
import {
  type CommitterState,
  dispatch,
  MAX_BATCH,
  MAX_FENCES,
  type PlannedBatch,
  type Waiting,
} from '../../../src/storage/postgres/ledger/chooseBatch.ts';
import type { Lock } from '../../../src/storage/postgres/ledger/fences.ts';
import { isAlike } from '../../../src/storage/postgres/ledger/plainBatch.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

interface Item extends Waiting {
  readonly number: number;
}

interface Committer extends CommitterState {
  isIdle: boolean;
}

type Arrival = Pick<Waiting, 'kind' | 'locks' | 'plainCharge' | 'fences'>;

const account = fc.integer({ min: 1, max: 12 });
const plain: fc.Arbitrary<Arrival> = fc
  .tuple(account, fc.constantFrom(1, 1, 1, 2), fc.constantFrom(0, 0, 400))
  .map(([id, amount, fences]) => ({
    kind: 'spend',
    locks: [id],
    plainCharge: { account: id, amount, revision: 1, rule: { kind: 'credits', refill: null } } satisfies Charge,
    fences,
  }));
const general: fc.Arbitrary<Arrival> = fc
  .tuple(fc.array(account, { maxLength: 3 }), fc.option(fc.constantFrom('k1', 'k2'), { nil: undefined }))
  .map(([ids, name]) => ({
    kind: 'spend',
    locks: name === undefined ? ids : [...ids, name],
    plainCharge: null,
    fences: 0,
  }));
const change: fc.Arbitrary<Arrival> = fc
  .array(account, { minLength: 1, maxLength: 2 })
  .map((locks) => ({ kind: 'change', locks, plainCharge: null, fences: 0 }));
/** Far more than a batch takes, of few accounts or of many. */
const flood: fc.Arbitrary<Arrival[]> = fc
  .tuple(fc.integer({ min: 20, max: 700 }), fc.constantFrom(1, 20, 10_000))
  .map(([count, accounts]) =>
    Array.from({ length: count }, (_, i) => {
      const id = 100 + (i % accounts);
      return {
        kind: 'spend',
        locks: [id],
        plainCharge: { account: id, amount: 1, revision: 1, rule: { kind: 'credits', refill: null } },
        fences: 0,
      };
    }),
  );

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(fc.oneof(plain, plain, general, change), { maxLength: 12 }).map((items) => ({ items })),
  },
  { weight: 1, arbitrary: flood.map((items) => ({ items })) },
  { weight: 6, arbitrary: fc.record({ ends: fc.nat(), isPutBack: fc.boolean() }) },
  { weight: 3, arbitrary: fc.array(account, { maxLength: 6 }).map((contended) => ({ contended })) },
  { weight: 1, arbitrary: fc.constantFrom(1, 10).map((passMs) => ({ passMs })) },
);

interface InFlight {
  readonly items: readonly Item[];
  readonly committer: Committer | null;
}

/** A ledger without a database: what goes in, what is in flight, and what has come out. */
class Simulation {
  readonly committers: readonly Committer[] = (['plain', 'plain', 'general', 'contended'] as const).map((role) => ({
    role,
    isIdle: true,
  }));
  queue: readonly Item[] = [];
  inFlight: InFlight[] = [];
  contended: ReadonlySet<Lock> = new Set();
  readonly done = new Set<number>();
  added = 0;
  nowMs = 0;
  #crowd = 0;

  add(arrivals: readonly Arrival[]): void {
    const items = arrivals.map((each) => ({ ...each, number: this.added++, queuedAtMs: this.nowMs }));
    this.queue = [...this.queue, ...items];
  }

  dispatch(): void {
    const { queue, committers, contended, nowMs } = this;
    const locked = new Set(this.inFlight.flatMap(({ items }) => items.flatMap(({ locks }) => locks)));
    this.#crowd = Math.max(this.#crowd * 0.98, queue.length + this.inFlight.flatMap(({ items }) => items).length);
    const crowd = this.#crowd;
    const plan = dispatch({ items: queue, committers, locked, contended, crowd, nowMs });
    for (const batch of plan.batches) {
      expectWithinLimits(batch);
      expect(batch.committer.isIdle).toBe(true);
      batch.committer.isIdle = false;
      this.#send(batch.items, batch.committer);
    }
    for (const each of plan.changes) {
      expect(each.kind).toBe('change');
      this.#send([each], null);
    }
    this.queue = plan.rest;
    this.#expectInOrder();
  }

  end(place: number, isPutBack: boolean): void {
    const [ended] = this.inFlight.splice(place % Math.max(1, this.inFlight.length), 1);
    if (ended === undefined) return;
    if (ended.committer !== null) ended.committer.isIdle = true;
    if (isPutBack && ended.committer !== null) this.queue = [...ended.items, ...this.queue];
    else for (const { number } of ended.items) this.done.add(number);
  }

  /** Every item is in exactly one place. */
  expectAll(): void {
    const numbers = [...this.queue, ...this.inFlight.flatMap(({ items }) => items)].map(({ number }) => number);
    const all = [...numbers, ...this.done];
    expect(all.length).toBe(this.added);
    expect(new Set(all).size).toBe(this.added);
  }

  #send(items: readonly Item[], committer: Committer | null): void {
    const own = new Set(items.flatMap(({ locks }) => locks));
    const others = this.inFlight.flatMap((each) => each.items.flatMap(({ locks }) => locks));
    expect(others.filter((lock) => own.has(lock))).toEqual([]);
    this.inFlight.push({ items, committer });
  }

  /** Of each lock: what is in flight came before what waits, and both are in the order in which they came. */
  #expectInOrder(): void {
    const last = new Map<Lock, number>();
    for (const { locks, number } of [...this.inFlight.flatMap(({ items }) => items), ...this.queue]) {
      for (const lock of locks) {
        expect(number).toBeGreaterThanOrEqual(last.get(lock) ?? 0);
        last.set(lock, number);
      }
    }
  }
}

function expectWithinLimits({ items, form, committer }: PlannedBatch<Item, Committer>): void {
  expect(items.length).toBeGreaterThan(0);
  expect(items.length).toBeLessThanOrEqual(MAX_BATCH);
  expect(items.slice(0, -1).reduce((sum, { fences }) => sum + fences, 0)).toBeLessThan(MAX_FENCES);
  const names = items.flatMap(({ locks }) => locks.filter((lock) => typeof lock === 'string'));
  expect(new Set(names).size).toBe(names.length);
  expect(items.every(({ kind }) => kind === 'spend')).toBe(true);
  if (form === 'general') return;
  const first = new Map<number, Charge>();
  for (const { plainCharge } of items) {
    if (plainCharge === null) throw new Error(`a general spend in a plain batch of the ${committer.role} committer`);
    const before = first.get(plainCharge.account);
    if (before === undefined) first.set(plainCharge.account, plainCharge);
    else expect(isAlike(before, plainCharge)).toBe(true);
  }
}

test('no item is lost or taken twice, the items of a lock keep their order, no lock is in flight twice, limits are kept', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const simulation = new Simulation();
      for (const each of steps) {
        if ('items' in each) simulation.add(each.items);
        else if ('ends' in each) simulation.end(each.ends, each.isPutBack);
        else if ('contended' in each) simulation.contended = new Set(each.contended);
        else simulation.nowMs += each.passMs;
        simulation.dispatch();
        simulation.expectAll();
      }
      // As long as something is in flight or waits, something can end or go out: nothing waits for ever.
      for (let turns = 0; simulation.done.size < simulation.added; turns++) {
        expect(turns).toBeLessThan(3 * simulation.added + 10);
        simulation.nowMs += 5;
        simulation.dispatch();
        expect(simulation.inFlight.length).toBeGreaterThan(0);
        simulation.end(turns, false);
      }
      simulation.expectAll();
    }),
    { seed, numRuns: 150 },
  );
});
