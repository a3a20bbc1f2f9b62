import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';

import { until } from '../../../tools/cluster/wait.ts';
import { TestService } from '../../support/service.ts';
import { Connection, verifyHead } from '../connection.ts';
import { type KeyLoad, verifyUnderLoad } from '../load.ts';
import { remainingIn } from '../documentation/offline.ts';
import { TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const CLIENTS = 64;
const CREDITS = 100_000;
const LIMIT = 200_000;
/** A window as long as there can be: it does not end during the test. */
const DURATION = 366 * 86_400_000;

interface Counters {
  readonly spent: number;
  readonly counted: number;
}

/** What the ledger says was spent and counted, asked without spending. */
async function readCounters(service: TestService, key: string): Promise<Counters> {
  const verdict = (await service.verify(key, { remaining: { cost: 0 }, ratelimit: { cost: 0 } })) as {
    remaining: number;
    ratelimit: { remaining: number };
  };
  return { spent: CREDITS - verdict.remaining, counted: LIMIT - verdict.ratelimit.remaining };
}

/** Opens what a crash left in this process, as a start does. */
async function survive(folder: TempFolder, look: (survivor: TestService) => Promise<void>): Promise<void> {
  const survivor = await TestService.start({ folder: folder.join('data'), startsAt: new Date().toISOString() });
  try {
    await look(survivor);
  } finally {
    await survivor.close();
  }
}

/** What a crash left on disk, looked at in a copy: opening the database would tidy it up. */
function inspectCrashed(folder: TempFolder, round: number): { integrity: unknown; unapplied: number } {
  const copy = folder.join(`copy-${round}`);
  cpSync(folder.join('data'), copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  using db = new Database(`${copy}/keystile.db`, { readwrite: true });
  const integrity = db.query('PRAGMA integrity_check').all();
  const { unapplied } = db.query('SELECT count(*) AS unapplied FROM ledger_log').get() as { unapplied: number };
  return { integrity, unapplied };
}

/** Kills the server when so many verifications have been answered, and reports what is on disk. */
async function crashUnderLoad(server: Server, loads: readonly KeyLoad[], killAfter: number): Promise<void> {
  let killed = Promise.resolve();
  await verifyUnderLoad(server, loads, {
    clients: CLIENTS,
    maxRequests: 10_000,
    onValid: (count) => {
      if (count === killAfter) killed = server.child.kill9();
    },
  });
  await killed;
}

describe('kill -9 under load', () => {
  test('no answered spend is lost and none counted twice, over several crashes of the same data', async () => {
    using folder = new TempFolder();
    const loads: KeyLoad[] = [];
    for (const [round, killAfter] of [700, 1, 1500].entries()) {
      await using server = await Server.start(folder);
      if (round === 0) {
        const keys = await server.createKeys(20, {
          remaining: CREDITS,
          ratelimit: { async: false, limit: LIMIT, duration: DURATION },
        });
        loads.push(...keys.map((key) => ({ ...key, valid: 0, unanswered: 0 })));
      }
      await crashUnderLoad(server, loads, killAfter);
      const { integrity, unapplied } = inspectCrashed(folder, round);
      expect(integrity).toEqual([{ integrity_check: 'ok' }]);
      expect(unapplied).toBeGreaterThan(0);
    }
    await survive(folder, async (survivor) => {
      for (const { key, valid, unanswered } of loads) {
        const { spent, counted } = await readCounters(survivor, key);
        expect(spent).toBeGreaterThanOrEqual(valid);
        expect(spent).toBeLessThanOrEqual(valid + unanswered);
        // Credits and the strict limit are taken together or not at all.
        expect(counted).toBe(spent);
      }
    });
  });

  test('while it is stopping: the same', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { key, keyId } = await server.createKey({ remaining: CREDITS });
    const each: KeyLoad = { key, keyId, valid: 0, unanswered: 0 };
    let killed = Promise.resolve();
    await verifyUnderLoad(server, [each], {
      clients: CLIENTS,
      maxRequests: 10_000,
      onValid: (count) => {
        if (count === 500) server.child.signal('SIGTERM');
        if (count === 600) killed = server.child.kill9();
      },
    });
    await killed;
    await server.child.kill9();
    const spent = CREDITS - (await remainingIn(folder.join('data'), keyId));
    expect(spent).toBeGreaterThanOrEqual(each.valid);
    expect(spent).toBeLessThanOrEqual(each.valid + each.unanswered);
  });

  test('at the very instant an answer arrives: its spend is on disk, every time', async () => {
    using folder = new TempFolder();
    const ROUNDS = 4;
    let made = { key: '', keyId: '' };
    for (let round = 0; round < ROUNDS; round++) {
      await using server = await Server.start(folder);
      if (round === 0) made = await server.createKey({ remaining: CREDITS });
      await server.verify(made.key, { remaining: { cost: 0 } });
      const body = JSON.stringify({ key: made.key });
      const kill = (): void => server.child.signal('SIGKILL');
      using connection = await Connection.open(server.port, verifyHead(body.length) + body, kill);
      expect(await connection.answer()).toContain(`"code":"VALID"`);
      await server.child.exited();
    }
    expect(await remainingIn(folder.join('data'), made.keyId)).toBe(CREDITS - ROUNDS);
  });

  test('every commit that was not yet folded is replayed: 100 keys, each spent in a commit of its own', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const keys = await server.createKeys(100, { remaining: 10 });
    for (const { key } of keys) expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 9 });
    await server.child.kill9();
    await survive(folder, async (survivor) => {
      const left = await Promise.all(keys.map(({ key }) => survivor.verify(key)));
      expect(left.map(({ remaining }: { remaining: number }) => remaining)).toEqual(keys.map(() => 8));
    });
  });

  test('retries after the crash with the same idempotency keys are charged once, to the unit', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const loads = (await server.createKeys(4, { remaining: CREDITS })).map((key) => ({
      ...key,
      valid: 0,
      unanswered: 0,
    }));
    const sent: { key: string; idempotencyKey: string }[] = [];
    let killed = Promise.resolve();
    await verifyUnderLoad(server, loads, {
      clients: CLIENTS,
      maxRequests: 10_000,
      fields: (client, request) => {
        const idempotencyKey = `client-${client}-request-${request}`;
        sent.push({ key: loads[(client + request) % loads.length]?.key ?? '', idempotencyKey });
        return { idempotencyKey };
      },
      onValid: (count) => {
        if (count === 1000) killed = server.child.kill9();
      },
    });
    await killed;
    await survive(folder, async (survivor) => {
      const retried = await Promise.all(sent.map(({ key, ...fields }) => survivor.verify(key, fields)));
      expect(retried.filter((verdict: { valid: boolean }) => !verdict.valid)).toEqual([]);
    });
    for (const { key, keyId } of loads) {
      const charged = sent.filter((request) => request.key === key).length;
      expect(await remainingIn(folder.join('data'), keyId)).toBe(CREDITS - charged);
    }
  });
});

describe('kill -9 while local limits are counted', () => {
  /** What stands in the file, which the process has open. */
  function savedCount(folder: TempFolder): number {
    using db = new Database(folder.join('data', 'analytics.db'), { readonly: true });
    return db.query('SELECT coalesce(sum(count), 0) FROM local_counts').values()[0]?.[0] as number;
  }

  test('what was counted is saved behind the requests, also after a while in which nothing was', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { key } = await server.createKey({ ratelimit: { async: true, limit: 10, duration: DURATION } });
    for (const count of [1, 2, 3]) {
      await server.verify(key);
      await until(`${count} are saved`, () => savedCount(folder) === count);
    }
    await server.child.kill9();
    await survive(folder, async (survivor) => {
      expect(await survivor.verify(key)).toMatchObject({ ratelimit: { remaining: 6 } });
    });
  });
});
