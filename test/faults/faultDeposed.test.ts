import { describe, expect, test } from 'bun:test';

import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { until } from '../../tools/cluster/wait.ts';
import { FaultNode } from '../support/cluster/faultNode.ts';
import { FaultPair } from '../support/cluster/faultPair.ts';
import type { LogFields } from '../../src/log.ts';
import { WarningWatch } from '../../src/storage/postgres/connection/durability.ts';

const STALE_MAX_MS = 1_000;
const UNAVAILABLE = { status: 503, code: 'UNAVAILABLE', valid: false };

/** A node with a key in memory, and both servers behind networks of their own. */
async function start(primary: PostgresServer, standby: PostgresServer, settings: Record<string, string> = {}) {
  const near = TcpProxy.start({ target: primary.port });
  const far = TcpProxy.start({ target: standby.port });
  const url = `postgres://postgres@${near.hostPort},${far.hostPort}/postgres?connect_timeout=5`;
  const node = await FaultNode.start({ url, settings });
  const made = await node.createKey({});
  expect(await node.verify(made.key)).toMatchObject({ valid: true });
  const end = async (): Promise<void> => {
    await node[Symbol.asyncDispose]();
    for (const proxy of [near, far]) proxy.stop();
  };
  return { node, far, ...made, [Symbol.asyncDispose]: end };
}

/** The node stays with the old primary, and sees nothing of the one that is promoted; the key is deleted there. */
async function deleteElsewhere(standby: PostgresServer, far: TcpProxy, keyId: string): Promise<void> {
  far.cut();
  await standby.promote();
  await using other = await FaultNode.start({ url: standby.url() });
  await other.createKey({});
  expect(await other.call('/v1/keys.deleteKey', { keyId })).toMatchObject({ status: 200 });
}

describe('a node that is cut off together with a primary whose standby was promoted', () => {
  test.concurrent('calls nothing valid that is asked KEYSTILE_STALE_MAX after the change, and goes on with the new primary', async () => {
    await using pair = await FaultPair.start();
    await using setup = await start(pair.primary, pair.standby);
    const { node, far, key, keyId } = setup;
    await deleteElsewhere(pair.standby, far, keyId);
    const deletedAt = performance.now();
    // The fault is there: the old primary answers, and has the key.
    expect(await pair.primary.query(`SELECT count(*) FROM keys WHERE id = '${keyId}'`)).toEqual([{ count: '1' }]);
    let last: Awaited<ReturnType<FaultNode['verify']>>;
    do {
      const askedAt = performance.now();
      last = await node.verify(key);
      if (last.valid) expect(askedAt - deletedAt).toBeLessThan(STALE_MAX_MS);
    } while (last.valid);
    for (let i = 0; i < 3; i++) expect(await node.verify(key)).toMatchObject(UNAVAILABLE);
    await until('readiness tells why', async () =>
      String((await node.readiness()).body['reasons']).startsWith(
        'No synchronous standby has acknowledged a write for',
      ),
    );
    far.heal();
    await until('the node follows', async () => (await node.verify(key)).status === 200);
    expect(await node.verify(key)).toMatchObject({ valid: false, code: 'NOT_FOUND' });
  });

  test.concurrent('goes on where no standby is synchronous: nothing can be proven there', async () => {
    await using primary = await PostgresServer.start();
    await using standby = await primary.startStandby('second');
    await using setup = await start(primary, standby);
    const { node, far, key, keyId } = setup;
    await until('the standby has the key', async () => {
      const rows = await standby.query(`SELECT 1 FROM keys WHERE id = '${keyId}'`).catch(() => []);
      return rows.length === 1;
    });
    await deleteElsewhere(standby, far, keyId);
    await node.storage.freshness.confirm();
    expect(await node.verify(key)).toMatchObject({ valid: true });
  });
});

describe('a primary whose synchronous standby is away', () => {
  test.concurrent('cached keys answer 503 after KEYSTILE_STALE_MAX, and again when it is back; changes are heard of meanwhile', async () => {
    await using pair = await FaultPair.start();
    await using setup = await start(pair.primary, pair.standby);
    await using started = await start(pair.primary, pair.standby, { KEYSTILE_STALE_MAX: '1h' });
    await pair.standby.kill();
    await until('the node is stale', async () => (await setup.node.verify(setup.key)).status === 503);
    expect(await started.node.verify(started.key)).toMatchObject({ valid: true });
    // Some node gets its change through, at least to here.
    const change = started.node.call('/v1/keys.updateKey', { keyId: started.keyId, enabled: false });
    await pair.cancelWait(await pair.untilWaiting('keystile', `query LIKE '%COMMIT'`));
    expect(await change).toMatchObject({ status: 503, code: 'OUTCOME_UNKNOWN' });
    await until('it is heard', async () => (await started.node.verify(started.key)).code === 'DISABLED');
    await pair.standbyBack();
    await until('the node is fresh', async () => (await setup.node.verify(setup.key)).valid);
  });

  test.concurrent('a node that starts then is not ready, and answers when it is back', async () => {
    await using pair = await FaultPair.start();
    await using first = await start(pair.primary, pair.standby);
    await pair.standby.kill();
    await using node = await FaultNode.start({ url: pair.url('late') });
    expect(await node.verify(first.key)).toMatchObject(UNAVAILABLE);
    expect(await node.readiness()).toMatchObject({ status: 503 });
    await pair.standbyBack();
    await until('the node answers', async () => (await node.verify(first.key)).valid);
  });

  test.concurrent('an administrator who gives up on it finds that in readiness, metrics and log, where it stays a warning', async () => {
    await using pair = await FaultPair.start();
    await using setup = await start(pair.primary, pair.standby);
    const warnings = async () => (await setup.node.readiness()).body['warnings'];
    const { storage } = setup.node;
    const logged: string[] = [];
    const log = (_text: string, fields?: LogFields): void => void logged.push(String(fields?.['problem']));
    const watch = new WarningWatch(storage.durability, { info: () => {}, warn: log, error: log });
    watch.look();
    const usual = await warnings();
    expect([storage.durability.facts.awaits_standby, logged.join()]).toEqual([true, String(usual)]);
    expect(String(usual)).not.toContain('synchronous_standby_names');
    await pair.standby.kill();
    await pair.primary.synchronousWith(null);
    await until('the node warns', async () => String(await warnings()).includes('synchronous_standby_names is empty'));
    watch.look();
    expect(storage.durability.facts.awaits_standby).toBe(false);
    expect(logged.at(-1)).toContain('synchronous_standby_names is empty');
    await until('the node is ready', async () => (await setup.node.readiness()).status === 200);
    expect(await setup.node.verify(setup.key)).toMatchObject({ valid: true });
    await pair.standbyBack();
    await pair.primary.synchronousWith(['second']);
    await until('the warning is gone', async () => String(await warnings()) === String(usual));
  });
});
