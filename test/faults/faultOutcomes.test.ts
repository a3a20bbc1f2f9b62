import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import type { Spend, SpendOutcome } from '../../src/core/spend.ts';
import { StorageUnavailable } from '../../src/storage/port/storage.ts';
import { NUMBER_TAKEN } from '../../src/storage/postgres/schema/ledgerFunctions.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { credits, idempotency } from '../postgres/conformance/samples.ts';
import { FaultLab, openCounters, seeded } from '../support/cluster/faultLab.ts';

const SPENDS = 300;
/** Of batches three, of management and of lookups two each, one of local counts, two of changes. */
const MAX_CONNECTIONS = 10;

type Answer = SpendOutcome | Error;

/** One spend of the run: from a counter of its own, which tells how often it was done, and most from one that they share. */
interface Try {
  readonly spend: Spend;
  readonly own: number;
  answer: Answer;
}

let lab: FaultLab;
let storage: PostgresStorage;

beforeAll(async () => {
  lab = await FaultLab.start();
  storage = await lab.open();
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

const ask = (spend: Spend): Promise<Answer> =>
  Promise.resolve(storage.ledger.spend(spend)).catch((error: unknown) => error as Error);

const isSpend = (bytes: Buffer): boolean => bytes.includes('take') || bytes.includes('spend');
const isResolve = (bytes: Buffer): boolean => bytes.includes('ledger_resolve');

/** Everything breaks, and is whole again some milliseconds later. */
async function breakFor(milliseconds: number): Promise<void> {
  lab.proxy.cut();
  await Bun.sleep(milliseconds);
  lab.proxy.heal();
}

/** The faults, in turns; each answers when it is over. */
function fault(turn: number, random: () => number): Promise<void> {
  switch (turn % 5) {
    case 0:
      return lab.proxy.cutBeforeAnswer(isSpend);
    case 1:
      return lab.proxy.cutNext(isSpend);
    case 2:
      // The answer is lost, and so is that to the question what became of it.
      return lab.proxy.cutBeforeAnswer(isSpend).then(() => lab.proxy.cutBeforeAnswer(isResolve));
    case 3:
      return lab.proxy.cutBeforeAnswer(isSpend).then(() => lab.proxy.cutNext(isResolve));
    default:
      return Bun.sleep(random() * 3).then(() => breakFor(random() * 20));
  }
}

/** Spends reach the database again: a fault that waits for one will come. */
function untilAnswered(account: number): Promise<void> {
  const peek: Spend = { charges: [credits(account, 0)], fences: [], idempotency: null };
  return until('spends are answered', async () => !((await ask(peek)) instanceof Error));
}

/** Batches of 1 to 6 until all are asked, every third with a fault. */
async function run(tries: readonly Try[], random: () => number): Promise<number> {
  let faults = 0;
  for (let at = 0, batch = 0; at < tries.length; batch++) {
    const size = Math.min(tries.length - at, batch % 2 === 0 ? 1 : 1 + Math.floor(random() * 6));
    if (batch % 3 === 0) await untilAnswered(tries[at]?.own ?? 0);
    const over = batch % 3 === 0 ? fault(faults++, random) : null;
    const asked = tries.slice(at, at + size);
    await Promise.all(asked.map(async (each) => (each.answer = await ask(each.spend))));
    await over;
    at += size;
  }
  return faults;
}

/** A dozen from both counters, a dozen from their own alone (which the database decides in another way), and so on. */
async function makeTries(shared: number, withKeys: boolean): Promise<Try[]> {
  const own = await openCounters(storage, SPENDS, 2);
  return own.map((account, i) => {
    const isAlone = !withKeys && Math.floor(i / 12) % 2 === 1;
    const charges = isAlone ? [credits(account, 1)] : [credits(shared, 1), credits(account, 1)];
    const spend = { charges, fences: [], idempotency: withKeys ? idempotency(`id ${i}`) : null };
    return { own: account, spend, answer: new Error('was not asked') };
  });
}

const isTaken = ({ answer }: Try): boolean => !(answer instanceof Error) && answer.status === 'taken';

/** What was left of each counter, as it was answered. */
const leftOf = ({ answer }: Try): number[] => ('charges' in answer ? answer.charges.map(({ left }) => left) : []);

/** Exactly the spends that were answered as taken are in the ledger, each once; the others said that they are not. */
async function expectTold(tries: readonly Try[], shared: number): Promise<void> {
  const others = tries.filter((each) => !isTaken(each)).map(({ answer }) => answer);
  expect(others.filter((answer) => !(answer instanceof StorageUnavailable))).toEqual([]);
  const charged = (await lab.values(tries.map(({ own }) => own))).map((value) => 2 - value);
  expect(charged).toEqual(tries.map((each) => (isTaken(each) ? 1 : 0)));
  const left = tries.filter(isTaken).map(leftOf);
  expect(left.map((each) => each.at(-1))).toEqual(left.map(() => 1));
  const ofShared = left.flatMap((each) => (each.length === 2 ? each.slice(0, 1) : [])).sort((a, b) => b - a);
  expect(ofShared).toEqual(ofShared.map((_, i) => SPENDS - 1 - i));
  expect(await lab.values([shared])).toEqual([SPENDS - ofShared.length]);
}

describe('spends over a network that breaks at every third batch', () => {
  test('what was answered is what was done, and nearly all is answered', async () => {
    const [shared = 0] = await openCounters(storage, 1, SPENDS);
    const tries = await makeTries(shared, false);
    const faults = await run(tries, seeded(1));
    expect(faults).toBeGreaterThan(30);
    await expectTold(tries, shared);
    expect(tries.filter(isTaken).length).toBeGreaterThan(0.9 * SPENDS);
  });

  test('with idempotency keys as well: asked again, each is charged once and answered the same', async () => {
    const [shared = 0] = await openCounters(storage, 1, SPENDS);
    const tries = await makeTries(shared, true);
    await run(tries, seeded(2));
    await expectTold(tries, shared);
    const first = tries.map(({ answer }) => answer);
    const random = seeded(3);
    for (const [i, each] of tries.entries()) {
      if (i % 20 === 0) await untilAnswered(each.own);
      const over = i % 20 === 0 ? fault(i / 20, random) : null;
      do each.answer = await ask(each.spend);
      while (each.answer instanceof StorageUnavailable);
      await over;
    }
    for (const [i, { answer }] of tries.entries()) {
      const before = first[i];
      if (before instanceof Error) expect(answer).toMatchObject({ status: 'taken', replayed: false });
      else expect(answer).toEqual({ ...before, replayed: true } as Answer);
    }
    await expectTold(tries, shared);
    expect(tries.filter(isTaken).length).toBe(SPENDS);
  });

  test('no connection is left behind', async () => {
    const [account = 0] = await openCounters(storage, 1, SPENDS);
    for (let i = 0; i < 2 * MAX_CONNECTIONS; i++) {
      await untilAnswered(account);
      const over = i % 2 === 0 ? lab.proxy.cutBeforeAnswer(isSpend) : lab.proxy.cutNext(isSpend);
      expect(await ask({ charges: [credits(account, 1)], fences: [], idempotency: null })).toMatchObject({
        status: 'taken',
      });
      await over;
    }
    expect(await lab.connections()).toBeLessThanOrEqual(MAX_CONNECTIONS);
  });
});

describe('a batch that was given up, and reaches the server after its number was taken back', () => {
  /** As the node would have sent it, on any connection. */
  const late = (name: 'take' | 'spend', committer: number, number: number, account: number): Promise<unknown> => {
    const fences = "'{}', '{}', '{}', '{}'";
    const text =
      name === 'take'
        ? `SELECT ledger_take_v1($1, $2, false, NULL, ARRAY[$3::bigint], '{-1}', '{1}', '{100}', '{0}', '{}', '{}', ${fences})`
        : `SELECT ledger_spend_v1($1, $2, false, NULL, ARRAY[$3::bigint], '{1}', '{1}', '{1}', '{1}', '{0}',
            '{0}', '{0}', '{0}', '{0}', '{0}', '{}', '{}', '{}', '{}', '{0}', '{}', '{}', '{}', '{}', 10, ${fences})`;
    return lab.query(text, [committer, number, account]).catch((error: unknown) => error);
  };

  test.each(['take', 'spend'] as const)(
    'by ledger_%s: is refused as a whole, and nothing is charged twice',
    async (name) => {
      const [account = 0] = await openCounters(storage, 1, 10);
      await untilAnswered(account);
      const cut = lab.proxy.cutNext(isSpend);
      const spend: Spend = { charges: [credits(account, 1)], fences: [], idempotency: null };
      expect(await ask(spend)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
      await cut;
      // The number that was taken back is the one before that under which it was done.
      const [done] = await lab.query('SELECT id, batch FROM committers ORDER BY used_at_ms DESC, batch DESC LIMIT 1');
      const [committer, number] = [Number(done?.['id']), Number(done?.['batch'])];
      expect(await late(name, committer, number - 1, account)).toMatchObject({ code: NUMBER_TAKEN });
      // Nor does the batch count twice that was done.
      expect(await late(name, committer, number, account)).toMatchObject({ code: NUMBER_TAKEN });
      expect(await lab.values([account])).toEqual([9]);
      // The same call of a committer of its own does charge: the refusals above are those of the number.
      await lab.query('INSERT INTO committers (id, used_at_ms) VALUES ($1, 0)', [account]);
      expect(await late(name, account, 1, account)).toBeArray();
      expect(await lab.values([account])).toEqual([8]);
    },
  );
});
