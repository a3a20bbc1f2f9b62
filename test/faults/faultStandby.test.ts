import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { until } from '../../tools/cluster/wait.ts';
import { StorageOutcomeUnknown } from '../../src/storage/port/storage.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { credits, idempotency, newReservation, spendOf } from '../postgres/conformance/samples.ts';
import { openCounters } from '../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../support/cluster/faultNode.ts';
import { FaultPair, firstOf } from '../support/cluster/faultPair.ts';

/** Connections of a node on which spends may wait. */
const COMMITTERS = 3;
const HOUR_MS = 3_600_000;
// A heartbeat of the node waits for the standby as well.
const RESOLVE = `query LIKE '%ledger_resolve%'`;
const SPEND = `(query LIKE '%ledger_take%' OR query LIKE '%ledger_spend%')`;
const CHANGE = `query LIKE '%COMMIT'`;

let pair: FaultPair;
const opened: PostgresStorage[] = [];

beforeAll(async () => {
  pair = await FaultPair.start();
});

afterAll(async () => {
  await Promise.all(opened.map((storage) => storage.close()));
  await pair[Symbol.asyncDispose]();
});

async function open(applicationName: string): Promise<PostgresStorage> {
  const storage = await pair.open(applicationName);
  opened.push(storage);
  return storage;
}

interface Outage {
  /** Of keys with credits and with a strict limit. */
  readonly exact: readonly NodeAnswer[];
  readonly local: NodeAnswer;
  readonly remaining: number;
  /** Backends that wait for the standby on behalf of a node that has tried more often than it has committers. */
  readonly leftBehind: number;
}

let outage: Promise<Outage> | null = null;

/** The standby is away for as long as a verification, or a few spends in a row, take to be given up. */
async function outlast(): Promise<Outage> {
  await using node = await FaultNode.start({ url: pair.url('served') });
  const strict = await node.createKey({ ratelimit: { async: false, limit: 1000, duration: HOUR_MS } });
  const counted = await node.createKey({ remaining: 1000 });
  const unexact = await node.createKey({ ratelimit: { async: true, limit: 1000, duration: HOUR_MS } });
  for (const { key } of [strict, counted, unexact]) expect(await node.verify(key)).toMatchObject({ valid: true });
  const trying = await open('trying');
  const accounts = await openCounters(trying, 2, 10);
  await pair.standby.kill();
  const asked = [node.verify(strict.key), node.verify(counted.key)];
  const local = await node.verify(unexact.key);
  await Promise.all([...asked, tryOften(trying, accounts)]);
  const leftBehind = await pair.waiting('trying');
  await pair.standbyBack();
  for (const { key } of [strict, counted]) {
    await until('the node acknowledges again', async () => (await node.verify(key)).valid);
  }
  const exact = await Promise.all(asked);
  return { exact, local, remaining: await node.remaining(counted.keyId), leftBehind };
}

/** More spends than there are committers, on two of them at a time, each until it is given up. */
async function tryOften({ ledger }: PostgresStorage, accounts: readonly number[]): Promise<void> {
  for (let tries = 0; tries <= COMMITTERS; tries += accounts.length) {
    const spends: Promise<unknown>[] = [];
    for (const account of accounts) {
      spends.push(Promise.resolve(ledger.spend(spendOf(credits(account, 1)))).catch((error: unknown) => error));
      // In the next turn it is under way, and the next one takes another lane.
      await new Promise((resolve) => void setImmediate(resolve));
    }
    for (const answer of await Promise.all(spends)) expect(answer).toBeInstanceOf(Error);
  }
}

describe('a primary that has lost its synchronous standby', () => {
  test('acknowledges nothing exact, goes on with what is local, and resumes when the standby is back', async () => {
    const { exact, local, remaining } = await (outage ??= outlast());
    expect(local).toMatchObject({ valid: true });
    expect(exact.map(({ status }) => status)).toEqual([503, 503]);
    const unknown = exact.filter(({ code }) => code === 'OUTCOME_UNKNOWN').length;
    expect(exact.filter(({ code }) => code === 'UNAVAILABLE').length).toBe(exact.length - unknown);
    // Before it one, after it one.
    expect(remaining).toBeLessThanOrEqual(998);
    expect(remaining).toBeGreaterThanOrEqual(998 - unknown);
  });

  test('a node that tries again and again leaves no more connections behind than it has committers', async () => {
    expect((await (outage ??= outlast())).leftBehind).toBeLessThanOrEqual(COMMITTERS);
  });

  test('a spend whose wait was cancelled is answered when the standby has it, and not before', async () => {
    const storage = await open('cancelled');
    const [account = 0] = await openCounters(storage, 1, 10);
    await Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
    await pair.standby.kill();
    const spend = Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
    await pair.cancelWait(await pair.untilWaiting('cancelled', SPEND));
    // It is there for all to see, and the node asks the lane, which has to wait for the standby as well.
    const resolving = pair.untilWaiting('cancelled', RESOLVE);
    expect(await firstOf(spend, resolving)).toBe('event');
    expect(await pair.query(`SELECT value FROM accounts WHERE id = ${account}`)).toEqual([{ value: '8' }]);
    // The end of that wait is no answer either.
    await pair.cancelWait(await resolving);
    expect(await firstOf(spend, pair.untilWaiting('cancelled', RESOLVE))).toBe('event');
    await pair.standbyBack();
    expect(await spend).toMatchObject({ status: 'taken', charges: [{ left: 8 }], replayed: false });
    expect(await Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))))).toMatchObject({
      charges: [{ left: 7 }],
    });
  });

  test('a spend that only the primary has is not replayed to whoever asks again', async () => {
    const [storage, other] = [await open('first'), await open('retrying')];
    const [account = 0] = await openCounters(storage, 1, 10);
    // By the lane that the retried one takes.
    for (const [i, { ledger }] of [storage, other].entries()) {
      await Promise.resolve(
        ledger.spend({ charges: [credits(account, 1)], fences: [], idempotency: idempotency(`before ${i}`) }),
      );
    }
    await pair.standby.kill();
    const spend = { charges: [credits(account, 1)], fences: [], idempotency: idempotency('retried') };
    const first = Promise.resolve(storage.ledger.spend(spend));
    await pair.cancelWait(await pair.untilWaiting('first', SPEND));
    await pair.untilWaiting('first', RESOLVE);
    const again = Promise.resolve(other.ledger.spend(spend));
    const answered = await firstOf(again, pair.untilWaiting('retrying', SPEND));
    // Asked when a local limit is used up: what was charged before is answered as it was.
    const lookedUp = other.ledger.findAnswer(spend.idempotency);
    const found = await firstOf(lookedUp, pair.untilWaiting('retrying', `query LIKE '%replays%'`));
    await pair.standbyBack();
    expect(await first).toMatchObject({ status: 'taken', charges: [{ left: 7 }] });
    expect(await again).toMatchObject({ status: 'taken', charges: [{ left: 7 }], replayed: true });
    expect([answered, found]).not.toContain('answered');
  });

  test('a settlement that only the primary has is not replayed to whoever asks again', async () => {
    const [storage, other] = [await open('settling'), await open('asking')];
    const [account = 0] = await openCounters(storage, 1, 10);
    const reserved = await storage.ledger.reserve(
      spendOf(credits(account, 4)),
      newReservation('rsv_standby', { keyId: 'key_standby', cost: 4, ttlMs: HOUR_MS }),
    );
    expect(reserved.spend.status).toBe('taken');
    await pair.standby.kill();
    const settle = { kind: 'settle', cost: 3, allowOverage: false } as const;
    const first = storage.ledger.endReservation('rsv_standby', settle).catch((error: unknown) => error);
    await pair.cancelWait(await pair.untilWaiting('settling', CHANGE));
    expect(await first).toBeInstanceOf(StorageOutcomeUnknown);
    const again = other.ledger.endReservation('rsv_standby', settle);
    const answered = await firstOf(again, pair.untilWaiting('asking', CHANGE));
    await pair.standbyBack();
    expect(answered).toBe('event');
    expect(await again).toMatchObject({ status: 'not held', reservation: { state: 'settled', charged: 3 } });
  });

  test('a change of a key whose wait was cancelled is not answered as done', async () => {
    const storage = await open('managing');
    const [account = 0] = await openCounters(storage, 1, 10);
    await pair.standby.kill();
    const set = { account, expect: 1, refill: null, set: 5, revision: 2 };
    const change = storage.ledger.apply({ writes: [], accounts: [set] }).catch((error: unknown) => error);
    await pair.cancelWait(await pair.untilWaiting('managing', CHANGE));
    expect(await change).toBeInstanceOf(StorageOutcomeUnknown);
    await pair.standbyBack();
  });

  test('a change that went down with the primary does not hide the later one that got its number', async () => {
    await using writing = await FaultNode.start({ url: pair.url('writing') });
    using near = TcpProxy.start({ target: pair.primary.port });
    using far = TcpProxy.start({ target: pair.standby.port });
    const url = `postgres://postgres@${near.hostPort},${far.hostPort}/postgres`;
    // Without the standby nothing confirms what a node knows. It shall go on for as long as this test takes.
    await using reading = await FaultNode.start({ url, settings: { KEYSTILE_STALE_MAX: '1h' } });
    const [disabled, deleted] = [await writing.createKey({}), await writing.createKey({})];
    for (const { key } of [disabled, deleted]) expect(await reading.verify(key)).toMatchObject({ valid: true });
    await pair.standby.kill();
    const change = writing.call('/v1/keys.updateKey', { keyId: disabled.keyId, enabled: false });
    await pair.cancelWait(await pair.untilWaiting('writing', CHANGE));
    expect(await change).toMatchObject({ status: 503, code: 'OUTCOME_UNKNOWN' });
    await until('the other node sees it', async () => (await reading.verify(disabled.key)).code === 'DISABLED');
    for (const proxy of [near, far]) proxy.cut();
    await pair.primary.kill();
    await pair.standby.restart();
    await pair.standby.promote();
    const { keyId } = deleted;
    await until('the key is deleted', async () => (await writing.call('/v1/keys.deleteKey', { keyId })).status === 200);
    for (const proxy of [near, far]) proxy.heal();
    await until(
      'the other node sees the later one',
      async () => (await reading.verify(deleted.key)).code === 'NOT_FOUND',
    );
    expect(await reading.verify(disabled.key)).toMatchObject({ valid: true });
  });
});
