import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { StorageOutcomeUnknown } from '../../src/storage/port/storage.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { openCounters, openStorage } from '../support/cluster/faultLab.ts';
import { FaultPair, firstOf } from '../support/cluster/faultPair.ts';
import { credits, spendOf } from '../postgres/conformance/samples.ts';

const RESOLVE = `query LIKE '%ledger_resolve%'`;
const BEAT = `query LIKE '%pg_logical_emit_message%'`;

let pair: FaultPair;

beforeAll(async () => {
  pair = await FaultPair.start();
});

afterAll(() => pair[Symbol.asyncDispose]());

/** On a server that speaks German to this node: the bytes are those of a server with lc_messages = de_DE. */
async function speakGerman(applicationName: string) {
  const proxy = TcpProxy.start({ target: pair.primary.port });
  const translated = proxy.replaceInAnswers('SWARNING\0', 'SWARNUNG\0');
  const storage = await openStorage(
    `postgres://postgres@${proxy.hostPort}/postgres?application_name=${applicationName}`,
  );
  const [account = 0] = await openCounters(storage, 1, 10);
  const end = async (): Promise<void> => {
    await storage.close();
    proxy.stop();
  };
  return { storage, account, translated, [Symbol.asyncDispose]: end };
}

/** A spend whose wait for the standby is cancelled is not answered until the standby has it. */
async function expectNotAnswered(storage: PostgresStorage, account: number, applicationName: string): Promise<void> {
  await Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
  await pair.standby.kill();
  const spend = Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
  await pair.cancelWait(await pair.untilWaiting(applicationName, `NOT ${BEAT}`));
  const first = await firstOf(spend, pair.untilWaiting(applicationName, RESOLVE));
  await pair.standbyBack();
  expect(first).toBe('event');
  expect(await spend).toMatchObject({ status: 'taken', charges: [{ left: 8 }] });
}

describe('a cancelled wait for the standby is known by its SQLSTATE, whatever language the server speaks', () => {
  test('of a spend', async () => {
    await using german = await speakGerman('spending');
    await expectNotAnswered(german.storage, german.account, 'spending');
    expect(german.translated()).toBeGreaterThan(0);
  });

  test('of a change', async () => {
    await using german = await speakGerman('changing');
    await pair.standby.kill();
    const set = { account: german.account, expect: 1, refill: null, set: 5, revision: 2 };
    const change = german.storage.ledger.apply({ writes: [], accounts: [set] }).catch((error: unknown) => error);
    await pair.cancelWait(await pair.untilWaiting('changing', `NOT ${BEAT}`));
    const outcome = await change;
    await pair.standbyBack();
    expect(outcome).toBeInstanceOf(StorageOutcomeUnknown);
    expect(german.translated()).toBe(1);
  });

  test('of a heartbeat: the node is stale a second later, however often someone cancels', async () => {
    await using german = await speakGerman('beating');
    const { freshness } = german.storage;
    await pair.standby.kill();
    while (freshness.mayUseCache()) {
      const waiting = pair.untilWaiting('beating', BEAT);
      await pair.cancelWait(await waiting);
    }
    await pair.standbyBack();
    expect(german.translated()).toBeGreaterThan(0);
    await freshness.confirm();
    expect(freshness.mayUseCache()).toBe(true);
  });
});

test('a server that is told to keep warnings to itself (client_min_messages) warns a node all the same', async () => {
  await pair.query('ALTER ROLE postgres SET client_min_messages = error');
  const storage = await pair.open('unwarned');
  try {
    const [account = 0] = await openCounters(storage, 1, 10);
    await expectNotAnswered(storage, account, 'unwarned');
  } finally {
    await storage.close();
    await pair.query('ALTER ROLE postgres RESET client_min_messages');
  }
});
