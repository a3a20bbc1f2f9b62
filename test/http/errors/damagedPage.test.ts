import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { sqliteTasks } from '../../../src/storage/sqlite/tasks.ts';
import { damageLastPage } from '../../support/damagePage.ts';
import { TestService } from '../../support/service.ts';

const DATABASE = 'keystile.db';
const ANALYTICS = 'analytics.db';
/** More than a page holds, also of balances. */
const BETWEEN = 400;
const TOLD = ' docs/incidents.md#the-database-is-damaged says what to do.';
const REASON = 'SQLITE_CORRUPT: database disk image is malformed';
const REFUSED =
  'What this request needs is on a damaged page of keystile.db; nothing was done. The operator of the service finds what to do in docs/incidents.md#the-database-is-damaged.';

let service: TestService;
let apiId: string;
/** On pages of their own, of keys and of balances. */
let first: { key: string; keyId: string };
let last: { key: string; keyId: string };

beforeEach(async () => {
  service = await TestService.start();
  apiId = await service.createApi();
  const fields = { meta: { filler: 'x'.repeat(100) }, remaining: 1000 };
  first = await service.createKey({ apiId, ...fields });
  await service.ok('/v1/keys.createKeys', { apiId, keys: Array.from({ length: BETWEEN }, () => fields) });
  last = await service.createKey({ apiId, ...fields });
});

afterEach(() => service.close());

async function damaged(file: string, table: string): Promise<void> {
  await service.stop();
  expect(damageLastPage(join(service.folder, file), table)).toBeGreaterThan(1);
  await service.open();
}

const tasksOf = ({ storage, clock }: TestService) => sqliteTasks(storage, { log: console, monotonicMs: clock.nowMs });

const verifyAll = (...sent: string[]) =>
  Promise.all(sent.map((key) => service.call('/v1/keys.verifyKey', { key }, { rootKey: null })));

async function readiness(): Promise<{ status: number; reasons: string[] }> {
  const { status, body } = await service.call('/v1/readiness', undefined, { method: 'GET', rootKey: null });
  return { status, reasons: body.reasons };
}

async function problemsOf(): Promise<{ name: string; text: string; command: string }[]> {
  return (await service.ok('/v1/service.getStatus', {})).problems;
}

const damageLines = (): unknown[] =>
  service.logLines.flatMap((line) => {
    const { level, message, file, reason } = JSON.parse(line) as Record<string, string>;
    return message?.includes('damaged') || level === 'error' ? [{ level, message, file, reason }] : [];
  });

describe('a damaged page of keystile.db', () => {
  test('refuses with 503 what is on it, and nothing else, also what was asked for at the same moment', async () => {
    await damaged(DATABASE, 'keys');
    expect(await readiness()).toEqual({ status: 200, reasons: [] });
    const [refused, taken] = await verifyAll(last.key, first.key);
    expect([refused?.status, refused?.body.error.code, refused?.body.error.message]).toEqual([
      503,
      'UNAVAILABLE',
      REFUSED,
    ]);
    expect([taken?.status, taken?.body.remaining]).toEqual([200, 999]);
    const got = await service.call('/v1/keys.getKey', { keyId: last.keyId });
    expect([got.status, got.body.error.message]).toEqual([503, REFUSED]);
    // The ids of keys that were made in the same millisecond have any order, so any page of the list can have what is damaged.
    let listed = await service.call('/v1/apis.listKeys', { apiId, limit: 100 });
    while (listed.status === 200)
      listed = await service.call('/v1/apis.listKeys', { apiId, limit: 100, cursor: listed.body.cursor });
    expect([listed.status, listed.body.error.message]).toEqual([503, REFUSED]);
    expect(service.broken).toEqual([]);
  });

  test('is told by readiness and the status, and by one line of the log however often it is met', async () => {
    await damaged(DATABASE, 'keys');
    for (let i = 0; i < 20; i++) await verifyAll(last.key);
    const text = `keystile.db is damaged (${REASON}): what needs a damaged page is answered 503, all else as before.${TOLD}`;
    expect(await readiness()).toEqual({ status: 503, reasons: [text] });
    expect(await problemsOf()).toMatchObject([
      { name: 'database', text, command: 'keystile backup restore FILE --force' },
    ]);
    expect(damageLines()).toEqual([
      {
        level: 'error',
        message: 'the database is damaged; docs/incidents.md#the-database-is-damaged says what to do',
        file: join(service.folder, DATABASE),
        reason: REASON,
      },
    ]);
  });

  test('with balances refuses a spend of them, and spends of others go on', async () => {
    await damaged(DATABASE, 'accounts');
    const [refused, taken] = await verifyAll(last.key, first.key);
    expect([refused?.status, refused?.body.error.message]).toEqual([503, REFUSED]);
    expect([taken?.status, taken?.body.remaining]).toEqual([200, 999]);
    expect((await readiness()).status).toBe(503);
    expect([service.broken, damageLines().length]).toEqual([[], 1]);
  });

  test('is found although nobody asks for what is on it', async () => {
    await damaged(DATABASE, 'audit_entries');
    expect((await readiness()).reasons).toEqual([]);
    const [, look] = tasksOf(service);
    await look?.run({ rest: async () => true, until: async () => {} });
    expect((await readiness()).reasons).toEqual([expect.stringContaining('keystile.db is damaged')]);
    expect(damageLines().length).toBe(1);
  });
});

test('nothing is found in whole files, and a service that stops ends the look', async () => {
  const [, look] = tasksOf(service);
  await look?.run({ rest: async () => true, until: async () => {} });
  expect(service.storage.damage).toBeNull();
  let rests = 0;
  const [, stopped] = tasksOf(service);
  await stopped?.run({ rest: async () => ++rests < 3, until: async () => {} });
  expect(rests).toBe(3);
});

test('a damaged analytics.db is a problem, and keeps nobody from verifying', async () => {
  for (let day = 0; day < 60; day++) {
    await verifyAll(first.key, last.key);
    service.clock.advance(24 * 3_600_000);
  }
  await service.engine.close();
  await service.engine.storage.analytics.fold();
  await damaged(ANALYTICS, 'key_verdicts');
  const asked = await service.call('/v1/analytics.getVerifications', { apiId, groupBy: ['key'] });
  expect([asked.status, asked.body.error.message]).toEqual([503, REFUSED.replace('keystile.db', ANALYTICS)]);
  expect((await verifyAll(last.key, first.key)).map(({ body }) => body.valid)).toEqual([true, true]);
  expect(await readiness()).toEqual({ status: 200, reasons: [] });
  expect(await problemsOf()).toMatchObject([
    {
      name: 'database',
      text: `analytics.db is damaged (${REASON}): counts, last uses and saved local limits are missing. Verifications go on.${TOLD}`,
      command: `mkdir damaged && mv ${service.folder}/analytics.db* damaged/`,
    },
  ]);
});

test('damage of analytics.db that is met while counts are written is remembered, and ends nothing', async () => {
  await service.stop();
  damageLastPage(join(service.folder, ANALYTICS), 'key_uses');
  await service.open();
  await verifyAll(first.key);
  await service.engine.countWriting.flush();
  const { analytics } = service.engine.storage;
  const failure = await analytics.fold().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StorageUnavailable);
  expect(service.storage.damage).toMatchObject({ ofCountsOnly: true });
  expect((await verifyAll(first.key)).map(({ body }) => body.valid)).toEqual([true]);
  expect([(await readiness()).status, service.broken]).toEqual([200, []]);
});

test('damage that a start meets refuses the start with the page that says what to do', async () => {
  await service.stop();
  damageLastPage(join(service.folder, DATABASE), 'ledger_log');
  const failure = await service.open().catch((error: unknown) => error);
  expect([(failure as Error).name, (failure as Error).message]).toEqual([
    'FolderError',
    `The database ${join(service.folder, DATABASE)} cannot be opened (${REASON}). It is damaged;${TOLD}`,
  ]);
});
