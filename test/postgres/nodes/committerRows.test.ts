import { expect, test } from 'bun:test';

import { PRUNE_GRACE_MS } from '../../../src/storage/port/storage.ts';
import { Connector } from '../../../src/storage/postgres/connection/connector.ts';
import { ConnectionLost } from '../../../src/storage/postgres/connection/databaseError.ts';
import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { LedgerClock } from '../../../src/storage/postgres/connection/ledgerClock.ts';
import type { Batch } from '../../../src/storage/postgres/ledger/batch.ts';
import { Committer } from '../../../src/storage/postgres/ledger/committer.ts';
import { VirtualClock } from '../../support/clock.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';

const DAY_MS = PRUNE_GRACE_MS / 2;

test('a batch that was not done is told so after days without a spend that was taken: its row is not old enough to be pruned', async () => {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await (await openStorage(url)).close();
  const time = new VirtualClock(0);
  const clock = new LedgerClock({ monotonicMs: time.nowMs, wallClockMs: time.nowMs }, true);
  const options = { clock, random: Math.random, monotonicMs: time.nowMs };
  const [committer] = Committer.share(new Connector(parseAddress(url), 'idle'), 1, options);
  const used: number[] = [];
  const run = (end: () => Promise<void>): Promise<string> => {
    const batch: Batch = {
      size: 0,
      read: () => [],
      async ask(_client, { committer: id }) {
        used.push(id);
        await end();
        return '';
      },
    };
    return committer?.run(batch, 'never').then(() => 'done', String) ?? Promise.resolve('none');
  };
  // As a batch whose spends are all refused: it leaves no trace in its row.
  const refused = async (): Promise<void> => {};

  expect(await run(refused)).toBe('done');
  time.advance(DAY_MS);
  expect(await run(refused)).toBe('done');
  expect(used[1]).toBe(used[0]);
  time.advance(1);
  // As pruning does at the latest a day later.
  await server.query('DELETE FROM committers', new URL(url).pathname.slice(1));
  const lost = await run(async () => {
    throw new ConnectionLost('it broke');
  });
  expect(lost).toBe('BatchUndone: it broke');
  expect(used[2]).not.toBe(used[1]);
  await committer?.close();
});
