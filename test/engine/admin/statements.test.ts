import { expect, test } from 'bun:test';

import type { StatementLine } from '../../../src/core/statement.ts';
import { type HolderRow, type RowQuery, StatementReader, OpenHolders } from '../../../src/engine/admin/statements.ts';
import { RefillSchedules } from '../../../src/engine/refillSchedules.ts';
import type { Holder, LineQuery } from '../../../src/storage/port/credits.ts';
import type { Storage, ReadAccount } from '../../../src/storage/port/storage.ts';
import { BLANK_IDENTITY } from '../../../src/model/identities.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ALL: RowQuery = { per: 'day', startMs: null, endMs: null };

/** An account with a line for each hour, a new period every 5 hours, and one credit spent in each. It was closed. */
function hourly(account: number, count: number): { account: number; line: StatementLine }[] {
  return Array.from({ length: count }, (_, i) => {
    const figures = { granted: 0, refilled: 0, adjusted: 0, spent: 1, expired: 0, held: 0 };
    const periodMs = Math.floor(i / 5) * 5 * HOUR_MS;
    return {
      account,
      line: { startMs: i * HOUR_MS, periodMs, opening: count - i, ...figures, closing: count - i - 1 },
    };
  });
}

/** Storage of holders of which each had one account. */
function storageOf(counts: readonly number[]) {
  const lines = counts.flatMap((count, i) => hourly(i + 1, count));
  const asked: number[] = [];
  const storage = {
    records: { findPlans: async () => [] },
    ledger: { read: async () => [], nowMs: () => 0 },
    statements: {
      closedAccountsOf: async (owners: readonly string[]) =>
        owners.map((owner) => ({ owner, account: Number(owner.slice(4)) })),
      periodsBefore: async (accounts: readonly number[], atMs: number) =>
        accounts.flatMap((account) => {
          const last = lines.findLast((each) => each.account === account && each.line.startMs < atMs);
          return last === undefined ? [] : [{ account, periodMs: last.line.periodMs }];
        }),
      lines: async ({ spans, untilMs, after, limit }: LineQuery) => {
        const found = lines
          .filter(({ account, line }) => spans.some((span) => span.account === account && line.startMs >= span.fromMs))
          .filter(({ line }) => line.startMs < (untilMs ?? Infinity))
          .filter(
            ({ account, line }) =>
              after === null ||
              line.startMs > after.startMs ||
              (line.startMs === after.startMs && account > after.account),
          )
          .toSorted((a, b) => a.line.startMs - b.line.startMs || a.account - b.account)
          .slice(0, limit);
        asked.push(found.length);
        return found;
      },
    },
  } as unknown as Storage;
  const holders = counts.map((_, i): Holder => ({
    id: `key_${i + 1}`,
    apiId: null,
    externalId: null,
    credits: null,
    planId: null,
    movesAtMs: null,
    isDeleted: true,
  }));
  return { storage, holders, asked };
}

async function read(counts: readonly number[], query: RowQuery, afterMs: number | null = null) {
  const { storage, holders, asked } = storageOf(counts);
  const rows: HolderRow[] = [];
  const reader = new StatementReader({
    storage,
    refills: new RefillSchedules(),
    dueCredits: { settle: async () => false },
  });
  const after = afterMs === null ? null : { startMs: afterMs, isPresent: false };
  for await (const part of reader.read(holders, query, after)) {
    rows.push(...part);
  }
  return { rows, most: Math.max(...asked), asked };
}

test('a holder with many lines is read in parts, and has the same rows', async () => {
  for (const [per, spanHours] of [
    ['day', 24],
    ['period', 5],
  ] as const) {
    const { rows, most } = await read([12_003], { ...ALL, per });
    expect(most).toBeLessThanOrEqual(5_001);
    expect(rows.length).toBe(Math.ceil(12_003 / spanHours));
    for (const [i, { row }] of rows.entries()) {
      const first = i * spanHours;
      const spent = Math.min(spanHours, 12_003 - first);
      expect([row.startMs, row.opening, row.spent, row.closing]).toEqual([
        first * HOUR_MS,
        12_003 - first,
        spent,
        12_003 - first - spent,
      ]);
    }
  }
});

test('many holders with many lines are read in smaller groups, in their order', async () => {
  const counts = [4_000, 1, 3_000, 6_000, 2_000];
  const { rows, most } = await read(counts, ALL);
  expect(most).toBeLessThanOrEqual(5_001);
  const spent = counts.map((_, i) => {
    const own = rows.filter(({ holder }) => holder.id === `key_${i + 1}`);
    return own.reduce((sum, { row }) => sum + row.spent, 0);
  });
  expect(spent).toEqual(counts);
  const ids = rows.map(({ holder }) => holder.id);
  expect(ids.toSorted()).toEqual(ids);
});

test('a period that begins before the start is whole, a cursor goes on behind its row, and what is past the end is not read', async () => {
  const startMs = 1_002 * HOUR_MS;
  const { rows } = await read([3_000], { per: 'period', startMs, endMs: startMs + 1 });
  expect(rows.map(({ row }) => [row.startMs, row.endMs, row.spent])).toEqual([[1_000 * HOUR_MS, 1_005 * HOUR_MS, 5]]);
  const after = await read([3_000], { per: 'period', startMs, endMs: 1_011 * HOUR_MS }, 1_000 * HOUR_MS);
  expect(after.rows.map(({ row }) => row.startMs / HOUR_MS)).toEqual([1_005, 1_010]);
  const days = await read([3_000], { per: 'day', startMs: 2 * DAY_MS + 1, endMs: 4 * DAY_MS }, null);
  expect(days.rows.map(({ row }) => [row.startMs / DAY_MS, row.spent])).toEqual([
    [2, 24],
    [3, 24],
  ]);
  expect(days.asked).toEqual([48]);
  const long = await read([30_000], { per: 'period', startMs: null, endMs: 10 * HOUR_MS });
  expect(long.rows.length).toBe(2);
  expect(long.asked).toEqual([5_001, 5_000]);
});

const HOLDER: Holder = {
  id: 'key_1',
  apiId: 'api_1',
  externalId: null,
  credits: { account: 7, refill: null },
  planId: BLANK_IDENTITY.planId,
  movesAtMs: null,
  isDeleted: false,
};

const account = (base: number, value: number, segmentMs = 100): ReadAccount => ({
  kind: 'credits',
  value,
  mark: 0,
  dueAtMs: 0,
  revision: 1,
  base,
  segmentMs,
});

const line = (startMs: number, fields: Partial<StatementLine> = {}): StatementLine => ({
  startMs,
  periodMs: 0,
  opening: 0,
  granted: 0,
  refilled: 0,
  adjusted: 0,
  spent: 0,
  expired: 0,
  closing: 0,
  held: 0,
  ...fields,
});

interface Read {
  readonly account: ReadAccount;
  readonly lines: readonly StatementLine[];
}

/** Reads one after the other; the last one again and again. */
async function opened(reads: readonly Read[]) {
  let tries = 0;
  const at = (): Read | undefined => reads[Math.min(tries, reads.length) - 1];
  const storage = {
    records: { findPlans: async () => [] },
    ledger: { read: async () => [(tries++, at()?.account)], nowMs: () => 150 },
    statements: {
      lines: async () => at()?.lines.map((each) => ({ account: 7, line: each })) ?? [],
      closedAccountsOf: async () => [],
    },
  } as unknown as Storage;
  const [open] = await new OpenHolders({
    storage,
    refills: new RefillSchedules(),
    dueCredits: { settle: async () => false },
  }).open([HOLDER]);
  return { tries, lines: open?.running?.lines };
}

const SOUND: Read = { account: account(10, 7), lines: [line(100, { adjusted: 10, closing: 10 })] };
const SEEN = [line(100, { adjusted: 10, spent: 3, closing: 7 })];

test('an account that fits its lines is read once', async () => {
  expect(await opened([SOUND])).toEqual({ tries: 1, lines: SEEN });
  expect(await opened([{ account: account(10, 10), lines: [] }])).toEqual({ tries: 1, lines: [] });
});

test.each([
  ['a later line has begun', [line(100, { adjusted: 10, spent: 3, closing: 7 }), line(120, { opening: 7 })]],
  ['a later line has begun, and this one had no movements', [line(120, { opening: 7, adjusted: 1, closing: 8 })]],
  ['its line is closed', [line(100, { adjusted: 10, spent: 3, closing: 7 })]],
  ['its line has another movement', [line(100, { adjusted: 10, granted: 5, closing: 15 })]],
] as const)('an account is read again when it changed meanwhile: %s', async (_title, lines) => {
  expect(await opened([{ account: account(10, 7), lines }, SOUND])).toEqual({ tries: 2, lines: SEEN });
});

test('an account that changes all the time is not waited for without end', async () => {
  const reads = [{ account: account(10, 7), lines: [line(120)] }];
  expect(opened(reads)).rejects.toThrow('The credits of key_1 keep changing while they are read. Try again.');
});
