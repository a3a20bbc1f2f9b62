import { describe, expect, test } from 'bun:test';

import type { Charge } from '../../../src/core/spend.ts';
import {
  type CommitterState,
  dispatch,
  type DispatchInput,
  type Waiting,
} from '../../../src/storage/postgres/ledger/chooseBatch.ts';
import type { Lock } from '../../../src/storage/postgres/ledger/fences.ts';

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
  readonly crowd?: number;
}

function decide({ items, busy = [], locked = [], contended = [], crowd = items.length }: Given) {
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
    crowd,
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
    { items: [plain('x', 1)], busy: ['a'], crowd: 60 },
    { rest: ['x'], looksAgain: true },
  ],
  [
    'after a while the general committer takes them',
    { items: long([plain('x', 1)]), busy: ['a'], crowd: 60 },
    { batches: ['general plain never x'] },
  ],
  [
    'unless it has work of its own',
    { items: long([plain('x', 1), general('y', [2, 3])]), busy: ['a'], crowd: 60 },
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
    ['the second half goes when a third of the crowd waits', { items: many(20), busy: ['a'], crowd: 60 }, [20]],
    ['not when fewer do', { items: many(19), busy: ['a'], crowd: 60 }, []],
    ['nor behind a first half of the same dispatch', { items: many(49), crowd: 60 }, [30]],
    [
      'one more spend of an account that the half has joins it',
      { items: [...many(100), ...Array.from({ length: 40 }, (_, i) => plain(`again ${i}`, 1))], crowd: 140 },
      [110],
    ],
    ['a batch has at most 500 spends', { items: many(1_600), crowd: 1_600 }, [500, 500]],
    ['also of one account', { items: Array.from({ length: 501 }, (_, i) => plain(`${i}`, 1)) }, [500]],
    [
      'and no further spend from 1,000 fences on',
      { items: many(5).map((each) => ({ ...each, fences: 400 })), busy: ['b'], crowd: 5 },
      [3],
    ],
  ];

  test.each(SIZES)('of a crowd: %s', (_title, given, sizes) => {
    expect(decide(given).sizes).toEqual([...sizes]);
  });

  test('the queue and what is in flight are not changed', () => {
    const items = Object.freeze([plain('x', 1), plain('y', 1, 2), change('z', [1])].map((each) => Object.freeze(each)));
    expect(() => decide({ items })).not.toThrow();
    expect(decide({ items })).toEqual(decide({ items }));
  });
});
