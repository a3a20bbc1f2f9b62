import { linesOf, spendAll } from '../samples.ts';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../../src/core/bounds.ts';
import type { AccountState } from '../../../../src/core/account.ts';
import { windowEnd } from '../../../../src/core/calendar.ts';
import type { ChangeOutcome, Storage } from '../../../../src/storage/port/storage.ts';
import { timesAsMany } from '../../../support/runs.ts';
import { ADAPTERS, Setup } from '../adapters.ts';
import { ReferenceLedger } from '../reference.ts';
import { KINDS, type Round, rounds, Scenario } from '../scenario.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const SCENARIOS = timesAsMany(40);
/** Scenarios between two restarts: a clean one and an unclean one in turn. */
const RESTART_EVERY = 10;
const TIMEOUT_MS = timesAsMany(120_000);

type States = readonly (AccountState | undefined)[];

for (const adapter of ADAPTERS) {
  describe(`${adapter.name}: random batches`, () => {
    let setup: Setup;
    let count = 0;

    beforeAll(async () => {
      setup = await Setup.make(adapter);
    });

    afterAll(() => setup.close());

    /** Plays the rounds on both and compares every answer, then every state. */
    async function play(played: readonly Round[]): Promise<{ accounts: readonly number[]; states: States }> {
      const { storage, clock } = setup;
      const reference = new ReferenceLedger(MAX_LIVE_IDEMPOTENCY_KEYS);
      const accounts = await storage.ledger.reserveAccounts(KINDS.length);
      const scenario = new Scenario(`s${count++}`, accounts, reference);
      let states: States = [];
      for (const { moveMs, toEndOfMs, items } of played) {
        const nowMs = clock.nowMs();
        clock.advance(toEndOfMs === null ? moveMs : windowEnd(nowMs, toEndOfMs) - nowMs);
        scenario.beginRound();
        const expected: unknown[] = [];
        const answers: Promise<unknown>[] = [];
        for (const item of items) {
          const work = scenario.toWork(item, clock.nowMs());
          if (item.isLate) await new Promise((turn) => setImmediate(turn));
          if ('change' in work) {
            // Of two reasons to refuse a change, an adapter may name either.
            const seen = reference.refusesRecords(work.change) ? withoutMark : (outcome: ChangeOutcome) => outcome;
            expected.push(seen(reference.apply(work.change, clock.nowMs())));
            answers.push(storage.ledger.apply(work.change).then(seen));
          } else {
            expected.push(work.spends.map((spend) => reference.spend(spend, clock.nowMs())));
            answers.push(spendAll(storage.ledger, work.spends));
          }
        }
        expect(await Promise.all(answers)).toEqual(expected as never);
        states = accounts.map((account) => reference.accounts.get(account));
        await expectStates(storage, accounts, states);
        expect(await linesOf(storage, accounts)).toEqual(reference.lines);
      }
      return { accounts, states };
    }

    async function expectStates(storage: Storage, accounts: readonly number[], states: States): Promise<void> {
      expect(await storage.ledger.read(accounts)).toEqual(states as never);
      const isEach = accounts.map((account, i) => isKnown(storage.ledger.peek(account), states[i]));
      expect(isEach).toEqual(accounts.map(() => true));
    }

    test(
      'every answer and every state is that of the reference, one by one in arrival order',
      async () => {
        await fc.assert(
          fc.asyncProperty(rounds, async (played) => {
            const { accounts, states } = await play(played);
            if (count % RESTART_EVERY !== 0) return;
            if (count % (2 * RESTART_EVERY) === 0) await setup.reopen();
            else await expectStates(await setup.afterCrash(), accounts, states);
            await expectStates(setup.storage, accounts, states);
          }),
          { seed, numRuns: SCENARIOS },
        );
      },
      TIMEOUT_MS,
    );
  });
}

function withoutMark(outcome: ChangeOutcome): ChangeOutcome {
  return outcome.status === 'stale' ? { status: 'stale', nowMs: outcome.nowMs } : outcome;
}

/** Whoever does not know without asking says nothing. */
function isKnown(peeked: States[number], state: States[number]): boolean {
  return peeked === undefined || Bun.deepEquals(peeked, state);
}
