import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { shortenedEntry } from '../../../src/engine/admin/change/applyChange.ts';
import type { AuditEntry } from '../../../src/storage/port/auditEntries.ts';
import { describeLongValue } from '../../../src/basics/longValue.ts';
import { TestService } from '../../support/service.ts';
import { entriesAbout } from './entries.ts';

const NO_ENTRY: AuditEntry = {
  actor: 'rk_1',
  action: 'role.update',
  target: 'role_1',
  before: null,
  after: null,
  origin: null,
  requestId: null,
  via: null,
};

const DAY_MS = 86_400_000;
const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** One run of the task; answers after how many steps it ended. `goesOn` false: the process stops. */
async function prune(service: TestService, goesOn = true): Promise<number> {
  const { nowMs } = service.clock;
  const log = { warn: () => {}, info: () => {}, error: () => {} };
  const clocks = { monotonicMs: nowMs, wallClockMs: nowMs };
  const { tasks } = engineTasks({ engine: service.engine, syncIntervalMs: 250, log, ...clocks });
  const task = tasks.find(({ name }) => name === 'removing old audit entries');
  let steps = 1;
  const rest = async (): Promise<boolean> => {
    steps += goesOn ? 1 : 0;
    return goesOn;
  };
  await task?.run({ rest, until: async (event) => event });
  return steps;
}

async function entriesIn(service: TestService): Promise<number> {
  const { entries } = await service.ok('/v1/audit.listEntries', { limit: 100 });
  return (entries as unknown[]).length;
}

test('entries are kept for ever, unless a setting says for how long', async () => {
  for (const [settings, left] of [
    [{}, 2],
    [{ KEYSTILE_AUDIT_RETENTION: '90d' }, 1],
  ] as const) {
    const service = await TestService.start({ settings });
    // The start has told of its root key.
    expect(await entriesIn(service)).toBe(1);
    service.clock.advance(1);
    await service.createApi();
    service.clock.advance(90 * DAY_MS - 1);
    expect([await prune(service), await entriesIn(service)]).toEqual([1, left]);
    await service.close();
  }
});

test('years of entries are removed step by step, and a process that stops waits for one step alone', async () => {
  const service = await TestService.start({ settings: { KEYSTILE_AUDIT_RETENTION: '1d' } });
  const apiId = await service.createApi();
  await service.ok('/v1/keys.createKeys', { apiId, keys: Array.from({ length: 1000 }, () => ({})) });
  service.clock.advance(2 * DAY_MS);
  expect(await prune(service, false)).toBe(1);
  expect(await prune(service)).toBe(2);
  expect(await entriesIn(service)).toBe(0);
  await service.close();
});

test('of a long value the log keeps which one it was and its length; the event has all of it', async () => {
  const service = await TestService.start();
  const long = { text: 'é'.repeat(8000), more: 1 };
  const json = JSON.stringify(long);
  const kept = { sha256: sha256(json), bytes: Buffer.byteLength(json) };
  const { keyId } = await service.createKey({ name: 'first', meta: long });
  await service.ok('/v1/keys.updateKey', { keyId, meta: { text: 'short' }, name: 'second' });
  expect(await entriesAbout(service, keyId)).toMatchObject([
    { before: null, after: { name: 'first', meta: kept } },
    { before: { name: 'first', meta: kept }, after: { name: 'second', meta: { text: 'short' } } },
  ]);
  const { events } = await service.ok('/v1/events.listEvents', { limit: 10 });
  expect(events.map(({ data }: { data: { after: { meta: unknown } } }) => data.after.meta)).toEqual([
    long,
    { text: 'short' },
  ]);
  await service.close();
});

test('of a list the short values stay, and a list of any length is bounded', async () => {
  const service = await TestService.start();
  const meta = { text: 'x'.repeat(3000) };
  const kept = { sha256: sha256(JSON.stringify(meta)), bytes: 3011 };
  const resources = [
    { type: 'mailbox', id: 'mailbox_1', name: 'a', meta },
    { type: 'mailbox', id: 'mailbox_2', name: 'b' },
  ];
  const limit = { namespace: 'mail', identifier: 'a', limit: 5, duration: 60_000, resources };
  await service.ok('/v1/ratelimits.limit', limit);
  const told = (await service.ok('/v1/audit.listEntries', { action: 'ratelimit.limit' })).entries[0].after.resources;
  expect(told).toMatchObject([{ id: 'mailbox_1', meta: kept }, { id: 'mailbox_2' }]);
  const entry = {
    ...NO_ENTRY,
    after: JSON.stringify({ ids: Array.from({ length: 2500 }, (_, i) => `perm_${i}_${'x'.repeat(20)}`) }),
  };
  const { after } = shortenedEntry(entry, sha256);
  expect(describeLongValue((JSON.parse(after ?? '') as { ids: unknown }).ids)).toMatch(/^\(not kept: \d{5} bytes/);
  const few = {
    ...NO_ENTRY,
    after: JSON.stringify({ ids: Array.from({ length: 2000 }, (_, i) => `perm_${i}_${'x'.repeat(20)}`) }),
  };
  expect(shortenedEntry(few, sha256)).toEqual(few);
  await service.close();
});

test('nobody can make unreadable what was done, and nobody can make up a digest', async () => {
  const service = await TestService.start();
  const url = `https://example.com/${'x'.repeat(1500)}`;
  const { webhookId } = await service.ok('/v1/webhooks.createWebhook', { url });
  expect((await entriesAbout(service, webhookId))[0]).toMatchObject({ after: { url } });
  const permissions = ['*', ...Array.from({ length: 400 }, (_, i) => `api.api_${'x'.repeat(20)}${i}.read_key`)];
  const { rootKeyId } = await service.ok('/v1/rootKeys.createRootKey', { name: 'a', permissions });
  expect((await entriesAbout(service, rootKeyId))[0]).toMatchObject({ after: { permissions } });
  const meta = { sha256: '0'.repeat(64), bytes: 5000 };
  const { keyId } = await service.createKey({ meta });
  const kept = { sha256: sha256(JSON.stringify(meta)), bytes: Buffer.byteLength(JSON.stringify(meta)) };
  expect((await entriesAbout(service, keyId))[0]).toMatchObject({ after: { meta: kept } });
  await service.close();
});

test('a value at the bound stays as it is, and one more byte makes it a digest', async () => {
  const service = await TestService.start();
  const { keyId } = await service.createKey();
  // {"t":"..."} takes eight bytes beside the text.
  for (const [length, isKept] of [
    [1016, true],
    [1017, false],
  ] as const) {
    await service.ok('/v1/keys.updateKey', { keyId, meta: { t: 'x'.repeat(length) } });
    const { after } = (await entriesAbout(service, keyId)).at(-1) as { after: { meta: object } };
    expect([length, describeLongValue(after.meta) === null]).toEqual([length, isKept]);
  }
  await service.close();
});
