import { expect, test } from 'bun:test';

import { BLANK_IDENTITY } from '../../../src/model/identities.ts';
import type { StatementLine } from '../../../src/core/statement.ts';
import { OpenHolders } from '../../../src/engine/admin/statements.ts';
import { RefillSchedules } from '../../../src/engine/refillSchedules.ts';
import type { Holder } from '../../../src/storage/port/credits.ts';
import type { ReadAccount, Storage } from '../../../src/storage/port/storage.ts';

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
