import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { storedIn } from '../errors/stored.ts';

interface Asked {
  readonly identifier: string;
  readonly limit?: number;
  readonly cost?: number;
  readonly async?: boolean;
  readonly namespace?: string;
  readonly duration?: number;
  readonly resources?: object[];
}

let service: TestService;

/** New for each test, and not made yet. */
let namespace = '';

/** 12:01 of the test's day. */
let noonOne = 0;

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });

beforeEach(() => {
  service = started();
  // A test that failed may have left its own.
  Reflect.deleteProperty(service.storage.ledger, 'spend');
  namespace = `of test ${++tests}`;
  noonOne = service.clock.nowMs() + 30_000;
});

let tests = 0;

const body = (asked: readonly Asked[]) => ({
  limits: asked.map((each) => ({ namespace, limit: 5, duration: 60_000, ...each })),
});

const multi = (...asked: Asked[]) => service.ok('/v1/ratelimits.multiLimit', body(asked));

/** Success and remaining of each, behind the success of all. */
const short = async (...asked: Asked[]): Promise<unknown[]> => {
  const { success, results } = await multi(...asked);
  return [success, ...results.map((each: { success: boolean; remaining: number }) => [each.success, each.remaining])];
};

const MODES = [
  ['local', true],
  ['strict', false],
] as const;

describe.each(MODES)('several %s limits in one call', (_mode, async) => {
  test('all that fit are taken, each with its own numbers', async () => {
    expect(
      await multi({ identifier: 'a', async }, { identifier: 'b', async, limit: 9, cost: 3, duration: 3_600_000 }),
    ).toEqual({
      success: true,
      results: [
        { success: true, limit: 5, remaining: 4, reset: noonOne },
        { success: true, limit: 9, remaining: 6, reset: noonOne + 59 * 60_000 },
      ],
    });
  });

  test('one that does not fit lets nothing of the others be taken, and alone is told not to fit', async () => {
    const three = (cost: number) => [
      { identifier: 'a', async },
      { identifier: 'b', async, cost },
      { identifier: 'c', async },
    ];
    expect(await short(...three(6))).toEqual([false, [true, 5], [false, 5], [true, 5]]);
    expect(await short(...three(5))).toEqual([true, [true, 4], [true, 0], [true, 4]]);
    expect(await short(...three(1))).toEqual([false, [true, 4], [false, 0], [true, 4]]);
    expect(await short(...three(0))).toEqual([true, [true, 3], [true, 0], [true, 3]]);
  });

  test('the same identifier twice counts twice, and each sees what those before it take', async () => {
    const two = (cost: number) => [
      { identifier: 'a', async, cost: 2 },
      { identifier: 'a', async, cost },
    ];
    expect(await short(...two(4))).toEqual([false, [true, 5], [false, 5]]);
    expect(await short(...two(4), { identifier: 'a', async, cost: 3 })).toEqual([
      false,
      [true, 5],
      [false, 5],
      [true, 5],
    ]);
    expect(await short(...two(4), { identifier: 'a', async, cost: 4 })).toEqual([
      false,
      [true, 5],
      [false, 5],
      [false, 5],
    ]);
    expect(await short(...two(3))).toEqual([true, [true, 3], [true, 0]]);
  });

  test('one counter under two limits: each is held against its own', async () => {
    const asked = [
      { identifier: 'a', async, limit: 10 },
      { identifier: 'a', async, limit: 1 },
    ];
    expect(await short(...asked)).toEqual([false, [true, 10], [false, 1]]);
    expect(await short(...asked.toReversed())).toEqual([true, [true, 0], [true, 8]]);
    expect(await short(...asked)).toEqual([false, [true, 8], [false, 0]]);
  });

  test('200 calls at the same time that share one of their limits: exactly as many succeed as it says', async () => {
    const calls = Array.from({ length: 200 }, (_, i) =>
      multi({ identifier: `own_${i}`, async }, { identifier: 'shared', async, limit: 30 }),
    );
    const answers = await Promise.all(calls);
    expect(answers.filter(({ success }) => success).length).toBe(30);
    const lefts = await Promise.all(
      answers.map(async ({ success }, i) => {
        const { results } = await multi({ identifier: `own_${i}`, async, cost: 0 });
        return [success, results[0].remaining];
      }),
    );
    expect(lefts).toEqual(answers.map(({ success }) => [success, success ? 4 : 5]));
  });
});

describe('local and strict limits in one call', () => {
  const both = (local: number, strict: number, first: 'local' | 'strict' = 'local'): Asked[] => {
    const asked = [
      { identifier: 'a', async: true, cost: local },
      { identifier: 'a', async: false, cost: strict },
    ];
    return first === 'local' ? asked : asked.toReversed();
  };

  test('a strict one that refuses gives the local ones back, and the other way round', async () => {
    expect(await short(...both(1, 6))).toEqual([false, [true, 5], [false, 5]]);
    expect(await short(...both(6, 1))).toEqual([false, [false, 5], [true, 5]]);
    expect(await short(...both(6, 6, 'strict'))).toEqual([false, [false, 5], [false, 5]]);
    expect(await short(...both(2, 3))).toEqual([true, [true, 3], [true, 2]]);
    expect(await short(...both(2, 3, 'strict'))).toEqual([false, [false, 2], [true, 3]]);
  });

  test('a local one that fits is given back when another local one refuses', async () => {
    const three = [
      { identifier: 'a', async: true, cost: 5 },
      { identifier: 'b', async: true, cost: 6 },
      { identifier: 'c', cost: 5 },
    ];
    expect(await short(...three)).toEqual([false, [true, 5], [false, 5], [true, 5]]);
    expect(await short(...three)).toEqual([false, [true, 5], [false, 5], [true, 5]]);
  });

  test('a strict one that is refused by another is not blocked by its own cost of 0', async () => {
    expect(await short(...both(6, 0))).toEqual([false, [false, 5], [true, 5]]);
  });

  test.each([
    ['taken', 5, true],
    ['refused', 6, false],
  ])('what is held while the ledger decides is let through to nobody else: %s', async (_outcome, cost, isTaken) => {
    await multi({ identifier: 'a', async: true, cost: 0 }, { identifier: 'b', cost: 0 });
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ledger.spend = async (each) => {
      asked.resolve();
      await go.promise;
      return spend(each);
    };
    const deciding = multi({ identifier: 'a', async: true, cost: 4 }, { identifier: 'b', cost });
    await asked.promise;
    expect(await short({ identifier: 'a', async: true, cost: 2 })).toEqual([false, [false, 1]]);
    go.resolve();
    expect((await deciding).success).toBe(isTaken);
    ledger.spend = spend;
    const left = isTaken ? 1 : 5;
    expect(await short({ identifier: 'a', async: true, cost: 0 })).toEqual([true, [true, left]]);
  });

  test('a hold whose window has ended meanwhile is not in the next one', async () => {
    await multi({ identifier: 'a', async: true, cost: 0 }, { identifier: 'b', cost: 0 });
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    ledger.spend = async (each) => {
      service.clock.set(noonOne);
      return spend(each);
    };
    await multi({ identifier: 'a', async: true, cost: 4 }, { identifier: 'b', cost: 4 });
    ledger.spend = spend;
    expect(await short({ identifier: 'a', async: true, cost: 0 }, { identifier: 'b', cost: 0 })).toEqual([
      true,
      [true, 5],
      [true, 1],
    ]);
  });

  test('100 parallel calls over both: what was taken is what was answered', async () => {
    const costs = Array.from({ length: 100 }, (_, i) => [1 + (i % 3), 1 + (i % 2)] as const);
    const wide = (local: number, strict: number) => both(local, strict).map((each) => ({ ...each, limit: 60 }));
    const answers = await Promise.all(costs.map(([local, strict]) => short(...wide(local, strict))));
    const taken = costs.filter((_, i) => answers[i]?.[0] === true);
    const sumOf = (place: 0 | 1): number => taken.reduce((sum, cost) => sum + cost[place], 0);
    expect(await short(...wide(0, 0))).toEqual([true, [true, 60 - sumOf(0)], [true, 60 - sumOf(1)]]);
  });

  test('when the ledger cannot be asked, nothing is taken', async () => {
    await multi(...both(1, 1));
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    ledger.spend = () => Promise.reject(new Error('gone'));
    expect((await service.call('/v1/ratelimits.multiLimit', body(both(1, 1)))).status).toBe(500);
    ledger.spend = spend;
    expect(await short(...both(0, 0))).toEqual([true, [true, 4], [true, 4]]);
  });

  test('overrides that change under the call are read again, twice at most; nothing is taken in vain', async () => {
    await multi(...both(1, 1));
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    let stale = 2;
    ledger.spend = (asked) => {
      const [fence = null] = asked.fences;
      return stale-- > 0 ? Promise.resolve({ status: 'stale', nowMs: service.clock.nowMs(), fence }) : spend(asked);
    };
    expect(await short(...both(1, 1))).toEqual([true, [true, 3], [true, 3]]);
    stale = 3;
    const { status, body: answer } = await service.call('/v1/ratelimits.multiLimit', body(both(1, 1)));
    expect([status, answer.error.message]).toEqual([
      503,
      'The overrides of these limits keep changing; nothing was counted. Try again.',
    ]);
    ledger.spend = spend;
    expect(await short(...both(0, 0))).toEqual([true, [true, 3], [true, 3]]);
  });

  test('counters that were removed under the call are opened again, twice at most; nothing is taken in vain', async () => {
    await multi(...both(1, 1));
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    let stale = 2;
    ledger.spend = (asked) =>
      stale-- > 0 ? Promise.resolve({ status: 'stale', nowMs: service.clock.nowMs(), fence: null }) : spend(asked);
    expect(await short(...both(1, 1))).toEqual([true, [true, 3], [true, 3]]);
    stale = 3;
    const { status, body: answer } = await service.call('/v1/ratelimits.multiLimit', body(both(1, 1)));
    expect([status, answer.error.message]).toEqual([
      503,
      'The counters of these limits keep being removed; nothing was counted. Try again.',
    ]);
    ledger.spend = spend;
    expect(await short(...both(0, 0))).toEqual([true, [true, 3], [true, 3]]);
  });
});

describe('a call of many limits', () => {
  const many = (count: number): Asked[] =>
    Array.from({ length: count }, (_, i) => ({
      identifier: `user_${i}`,
      namespace: `${namespace}, ${i % 3}`,
      async: i % 2 === 0,
    }));

  test('takes 100, over several namespaces and both modes', async () => {
    const { success, results } = await multi(...many(100));
    expect([success, results.length]).toEqual([true, 100]);
    expect(new Set(results.map(({ remaining }: { remaining: number }) => remaining))).toEqual(new Set([4]));
  });

  test('opens a hundred new counters in one commit and spends them in another', async () => {
    await multi({ identifier: 'first' });
    const sizes: number[] = [];
    const { metrics } = service.composed.service;
    const committed = metrics.committed.bind(metrics);
    metrics.committed = (size) => void sizes.push(size);
    await multi(...Array.from({ length: 100 }, (_, i) => ({ identifier: `user_${i}` })));
    metrics.committed = committed;
    expect(sizes).toEqual([100, 1]);
  });

  test.each([
    ['none', () => ({ limits: [] }), 'limits'],
    ['no list', () => ({}), 'limits'],
    ['101', () => body(many(101)), 'limits'],
    ['one that is wrong', () => body([{ identifier: 'a' }, { identifier: 'b', limit: 0 }]), 'limits[1].limit'],
    [
      'one whose resource is too large',
      () =>
        body([
          { identifier: 'a' },
          { identifier: 'b', resources: [{ type: 't', id: 'i', meta: { a: 'x'.repeat(17_000) } }] },
        ]),
      'limits[1].resources[0].meta',
    ],
  ])('%s is a 400, and nothing is taken or made', async (_name, sent, path) => {
    const before = storedIn(service.folder);
    const { status, body: answer } = await service.call('/v1/ratelimits.multiLimit', sent());
    expect([status, answer.error.code, answer.error.issues[0].path]).toEqual([400, 'BAD_REQUEST', path]);
    expect(storedIn(service.folder)).toEqual(before);
    expect(await service.storage.records.findNamespace(namespace)).toBeNull();
  });

  test('writes one entry for each limit that names resources, with the success of the whole call', async () => {
    const resources = [{ type: 'file', id: 'f_1' }];
    await multi({ identifier: 'a', resources }, { identifier: 'b' }, { identifier: 'c', cost: 6, resources });
    const target = (await service.storage.records.findNamespace(namespace))?.id ?? expect.unreachable();
    const query = { limit: 10, before: null, actor: null, target, fromMs: null, untilMs: null };
    const { entries } = await service.storage.records.listEntries({ ...query, action: 'ratelimit.limit' });
    expect(entries.map(({ after }) => JSON.parse(after ?? '') as unknown)).toEqual([
      { identifier: 'c', success: false, resources },
      { identifier: 'a', success: false, resources },
    ]);
  });
});
