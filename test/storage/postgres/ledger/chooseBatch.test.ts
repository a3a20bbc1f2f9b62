import { describe, expect, test } from 'bun:test';

import * as fc from 'fast-check';

import type { Charge } from '../../../../src/core/spend.ts';
import {
  type CommitterState,
  dispatch,
  type DispatchInput,
  type Waiting,
  MAX_BATCH,
  MAX_FENCES,
  type PlannedBatch,
} from '../../../../src/storage/postgres/ledger/chooseBatch.ts';
import type { Lock } from '../../../../src/storage/postgres/ledger/fences.ts';
import { isAlike } from '../../../../src/storage/postgres/ledger/plainBatch.ts';

const NOW_MS = 1_000;

interface Item extends Waiting {
  readonly id: string;
}

interface Committer extends CommitterState {
  readonly name: string;
}

const charge = (account: number, amount = 1): Charge => ({
  account,
  amount,
  revision: 1,
  rule: { kind: 'credits', refill: null },
});

const item = (id: string, fields: Partial<Item>): Item => ({
  id,
  kind: 'spend',
  locks: [],
  plainCharge: null,
  fences: 0,
  queuedAtMs: NOW_MS,
  ...fields,
});
const plain = (id: string, account: number, amount = 1, fields: Partial<Item> = {}): Item =>
  item(id, { locks: [account], plainCharge: charge(account, amount), ...fields });
const general = (id: string, locks: Lock[], fields: Partial<Item> = {}): Item => item(id, { locks, ...fields });
const change = (id: string, locks: Lock[]): Item => item(id, { kind: 'change', locks });
const many = (count: number, first = 1): Item[] =>
  Array.from({ length: count }, (_, i) => plain(`${first + i}`, first + i));
const long = (items: readonly Item[]): Item[] => items.map((each) => ({ ...each, queuedAtMs: NOW_MS - 5 }));

const ROLES = { a: 'plain', b: 'plain', general: 'general', contended: 'contended' } as const;

interface Given {
  readonly items: readonly Item[];
  /** Names of committers with a batch in flight. */
  readonly busy?: readonly (keyof typeof ROLES)[];
  readonly locked?: readonly Lock[];
  readonly contended?: readonly Lock[];
  readonly recentPeak?: number;
}

function decide({ items, busy = [], locked = [], contended = [], recentPeak = items.length }: Given) {
  const committers: Committer[] = Object.entries(ROLES).map(([name, role]) => ({
    name,
    role,
    isIdle: !busy.some((each) => each === name),
  }));
  const input: DispatchInput<Item, Committer> = {
    items,
    committers,
    locked: new Set(locked),
    contended: new Set(contended),
    recentPeak,
    nowMs: NOW_MS,
  };
  const plan = dispatch(input);
  return {
    batches: plan.batches.map(({ committer, form, items: batch, waits }) =>
      [committer.name, form, waits, ...ids(batch)].join(' '),
    ),
    changes: ids(plan.changes),
    rest: ids(plan.rest),
    looksAgain: plan.looksAgain,
    sizes: plan.batches.map(({ items: batch }) => batch.length),
  };
}

const ids = (items: readonly Item[]): string[] => items.map(({ id }) => id);

interface Expected {
  readonly batches?: string[];
  readonly changes?: string[];
  readonly rest?: string[];
  readonly looksAgain?: boolean;
}

const CASES: readonly (readonly [string, Given, Expected])[] = [
  ['an empty queue is nothing to do', { items: [] }, {}],
  ['plain spends are one batch', { items: [plain('x', 1), plain('y', 2)] }, { batches: ['a plain never x y'] }],
  [
    'spends of one account are one batch, in their order',
    { items: [plain('x', 1), plain('y', 2), plain('z', 1)] },
    { batches: ['a plain never x y z'] },
  ],
  [
    'general spends go by their own committer, beside the plain ones',
    { items: [plain('x', 1), general('y', [2, 3])] },
    { batches: ['a plain never x', 'general general never y'] },
  ],
  [
    'spends of one account that are not alike are one general batch',
    { items: [plain('x', 1), plain('y', 1, 2), plain('z', 2)] },
    { batches: ['general general never x y', 'a plain never z'] },
  ],
  [
    'plain spends join the general batch of their account, before and behind it',
    { items: [plain('x', 1), general('y', [1, 2]), plain('z', 2)] },
    { batches: ['general general never x y z'] },
  ],
  [
    'an idempotency key is in a batch once',
    { items: [general('x', [1, 'key']), general('y', [1, 'key']), general('z', [1])] },
    { batches: ['general general never x'], rest: ['y', 'z'], looksAgain: true },
  ],
  [
    'locks in flight keep an item back, and all that share a lock with it',
    { items: [general('x', [1, 2]), plain('y', 2), plain('z', 3)], locked: [1] },
    { batches: ['a plain never z'], rest: ['x', 'y'], looksAgain: true },
  ],
  [
    'a change starts by itself',
    { items: [change('x', [1, 'key_1']), plain('y', 2)] },
    { batches: ['a plain never y'], changes: ['x'] },
  ],
  [
    'a change waits for the spends before it, and the spends behind it wait for the change',
    { items: [plain('x', 1), change('y', [1]), plain('z', 1)] },
    { batches: ['a plain never x'], rest: ['y', 'z'], looksAgain: true },
  ],
  [
    'a change starts while all committers are in flight but one',
    { items: [change('x', [1])], busy: ['a', 'b', 'contended'] },
    { changes: ['x'] },
  ],
  [
    'also when that is the one for contended accounts',
    { items: [change('x', [1])], busy: ['a', 'b', 'general'] },
    { changes: ['x'] },
  ],
  [
    'contended accounts go out while all other committers are in flight',
    { items: [plain('x', 1), plain('y', 2)], contended: [2], busy: ['a', 'b', 'general'] },
    { batches: ['contended plain first y'], rest: ['x'] },
  ],
  [
    'contended accounts go by their own committer, which waits for rows',
    { items: [plain('x', 1), plain('y', 2)], contended: [2] },
    { batches: ['a plain never x', 'contended plain first y'] },
  ],
  [
    'while that one is in flight they stay',
    { items: [plain('x', 1), plain('y', 2)], contended: [2], busy: ['contended'] },
    { batches: ['a plain never x'], rest: ['y'], looksAgain: true },
  ],
  [
    'a contended batch has one form: that of the first spend',
    { items: [general('x', [1, 2]), plain('y', 3)], contended: [1, 3] },
    { batches: ['contended general first x'], rest: ['y'], looksAgain: true },
  ],
  [
    'an account of a contended spend is not taken from beside it',
    { items: [general('x', [1, 2]), plain('y', 2)], contended: [1] },
    { batches: ['contended general first x'], rest: ['y'], looksAgain: true },
  ],
  [
    'a spend whose locks are in two batches waits for both',
    { items: [general('x', [2]), general('y', [1]), general('z', [2, 1])], contended: [1] },
    { batches: ['general general never x', 'contended general first y'], rest: ['z'], looksAgain: true },
  ],
  [
    'a few plain spends wait for the batch in flight',
    { items: [plain('x', 1)], busy: ['a'], recentPeak: 60 },
    { rest: ['x'], looksAgain: true },
  ],
  [
    'after a while the general committer takes them',
    { items: long([plain('x', 1)]), busy: ['a'], recentPeak: 60 },
    { batches: ['general plain never x'] },
  ],
  [
    'unless it has work of its own',
    { items: long([plain('x', 1), general('y', [2, 3])]), busy: ['a'], recentPeak: 60 },
    { batches: ['general general never y'], rest: ['x'] },
  ],
  [
    'after a while the pair takes general spends',
    { items: long([general('x', [1, 2])]), busy: ['general'] },
    { batches: ['a general never x'] },
  ],
  [
    'without a committer everything stays',
    { items: long([plain('x', 1), general('y', [2])]), busy: ['a', 'b', 'general', 'contended'] },
    { rest: ['x', 'y'] },
  ],
];

describe('dispatch', () => {
  test.each(CASES)('%s', (_title, given, expected) => {
    const { sizes: _sizes, ...decided } = decide(given);
    expect(decided).toEqual({ batches: [], changes: [], rest: [], looksAgain: false, ...expected });
  });

  const SIZES: readonly (readonly [string, Given, readonly number[]])[] = [
    ['31 are one batch', { items: many(31) }, [31]],
    ['32 are two halves', { items: many(32) }, [16, 16]],
    [
      'the second half goes when a third of the recentPeak waits',
      { items: many(20), busy: ['a'], recentPeak: 60 },
      [20],
    ],
    ['not when fewer do', { items: many(19), busy: ['a'], recentPeak: 60 }, []],
    ['nor behind a first half of the same dispatch', { items: many(49), recentPeak: 60 }, [30]],
    [
      'one more spend of an account that the half has joins it',
      { items: [...many(100), ...Array.from({ length: 40 }, (_, i) => plain(`again ${i}`, 1))], recentPeak: 140 },
      [110],
    ],
    ['a batch has at most 500 spends', { items: many(1_600), recentPeak: 1_600 }, [500, 500]],
    ['also of one account', { items: Array.from({ length: 501 }, (_, i) => plain(`${i}`, 1)) }, [500]],
    [
      'and no further spend from 1,000 fences on',
      { items: many(5).map((each) => ({ ...each, fences: 400 })), busy: ['b'], recentPeak: 5 },
      [3],
    ],
  ];

  test.each(SIZES)('of a recentPeak: %s', (_title, given, sizes) => {
    expect(decide(given).sizes).toEqual([...sizes]);
  });

  test('the queue and what is in flight are not changed', () => {
    const items = Object.freeze([plain('x', 1), plain('y', 1, 2), change('z', [1])].map((each) => Object.freeze(each)));
    expect(() => decide({ items })).not.toThrow();
    expect(decide({ items })).toEqual(decide({ items }));
  });
});

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

interface Numbered extends Waiting {
  readonly number: number;
}

interface Simulated extends CommitterState {
  isIdle: boolean;
}

type Arrival = Pick<Waiting, 'kind' | 'locks' | 'plainCharge' | 'fences'>;

const account = fc.integer({ min: 1, max: 12 });

const plainArrival: fc.Arbitrary<Arrival> = fc
  .tuple(account, fc.constantFrom(1, 1, 1, 2), fc.constantFrom(0, 0, 400))
  .map(([id, amount, fences]) => ({
    kind: 'spend',
    locks: [id],
    plainCharge: { account: id, amount, revision: 1, rule: { kind: 'credits', refill: null } } satisfies Charge,
    fences,
  }));

const generalArrival: fc.Arbitrary<Arrival> = fc
  .tuple(fc.array(account, { maxLength: 3 }), fc.option(fc.constantFrom('k1', 'k2'), { nil: undefined }))
  .map(([accounts, name]) => ({
    kind: 'spend',
    locks: name === undefined ? accounts : [...accounts, name],
    plainCharge: null,
    fences: 0,
  }));

const changeArrival: fc.Arbitrary<Arrival> = fc
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
    arbitrary: fc
      .array(fc.oneof(plainArrival, plainArrival, generalArrival, changeArrival), { maxLength: 12 })
      .map((items) => ({ items })),
  },
  { weight: 1, arbitrary: flood.map((items) => ({ items })) },
  { weight: 6, arbitrary: fc.record({ ends: fc.nat(), isPutBack: fc.boolean() }) },
  { weight: 3, arbitrary: fc.array(account, { maxLength: 6 }).map((contended) => ({ contended })) },
  { weight: 1, arbitrary: fc.constantFrom(1, 10).map((passMs) => ({ passMs })) },
);

interface InFlight {
  readonly items: readonly Numbered[];
  readonly committer: Simulated | null;
}

/** A ledger without a database: what goes in, what is in flight, and what has come out. */
class Simulation {
  readonly committers: readonly Simulated[] = (['plain', 'plain', 'general', 'contended'] as const).map((role) => ({
    role,
    isIdle: true,
  }));
  queue: readonly Numbered[] = [];
  inFlight: InFlight[] = [];
  contended: ReadonlySet<Lock> = new Set();
  readonly done = new Set<number>();
  added = 0;
  nowMs = 0;
  #recentPeak = 0;

  add(arrivals: readonly Arrival[]): void {
    const items = arrivals.map((each) => ({ ...each, number: this.added++, queuedAtMs: this.nowMs }));
    this.queue = [...this.queue, ...items];
  }

  dispatch(): void {
    const { queue, committers, contended, nowMs } = this;
    const locked = new Set(this.inFlight.flatMap(({ items }) => items.flatMap(({ locks }) => locks)));
    this.#recentPeak = Math.max(
      this.#recentPeak * 0.98,
      queue.length + this.inFlight.flatMap(({ items }) => items).length,
    );
    const recentPeak = this.#recentPeak;
    const plan = dispatch({ items: queue, committers, locked, contended, recentPeak, nowMs });
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

  #send(items: readonly Numbered[], committer: Simulated | null): void {
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

function expectWithinLimits({ items, form, committer }: PlannedBatch<Numbered, Simulated>): void {
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
