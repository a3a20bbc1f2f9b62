import { describe, expect, test } from 'bun:test';

import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { until } from '../../tools/cluster/wait.ts';
import type { Spend } from '../../src/core/spend.ts';
import type { RecordChange } from '../../src/storage/port/freshness.ts';
import { openCounters, openStorage } from '../support/cluster/faultLab.ts';

const spendOf = (account: number): Spend => ({
  charges: [{ account, amount: 1, revision: 1, rule: { kind: 'credits', refill: null } }],
  fences: [],
  idempotency: null,
});

async function valueOn(server: PostgresServer, account: number): Promise<number> {
  const [row] = await server.query(`SELECT value FROM accounts WHERE id = ${account}`);
  return Number(row?.['value']);
}

describe('a standby was promoted while its primary goes on', () => {
  test('a node that can reach both leaves the old one, drops what it remembers, and never goes back', async () => {
    await using old = await PostgresServer.start();
    const url = `postgres://postgres@${old.hostPort}`;
    const first = await openStorage(`${url}/postgres`);
    const [account = 0] = await openCounters(first, 1, 100);
    await using standby = await old.startStandby('second');
    const hosts = `postgres://postgres@${old.hostPort},${standby.hostPort}/postgres`;
    const node = await openStorage(hosts);
    const heard: RecordChange[] = [];
    node.freshness.onChange((change) => heard.push(change));
    try {
      expect(await Promise.resolve(node.ledger.spend(spendOf(account)))).toMatchObject({ charges: [{ left: 99 }] });
      await until('the standby has the spend', async () => (await valueOn(standby, account)) === 99);
      await standby.promote();
      await until('the node spends on the promoted server', async () => {
        await Promise.resolve(node.ledger.spend(spendOf(account))).catch(() => null);
        return (await valueOn(standby, account)) < 99;
      });
      const leftBehind = await valueOn(old, account);
      // Also with all connections made anew: the old one still takes writes, and stands first in the address.
      await standby.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'keystile %'`,
      );
      for (let i = 0; i < 20; i++) await Promise.resolve(node.ledger.spend(spendOf(account))).catch(() => null);
      expect(await valueOn(old, account)).toBe(leftBehind);
      await until('the node has dropped what it remembers', () =>
        heard.some(({ keys, rootKeys }) => keys === null && rootKeys),
      );
    } finally {
      await node.close();
      await first.close();
    }
  });
});
