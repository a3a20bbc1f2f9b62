import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { TestService } from '../../support/service.ts';
import { CASES as OTHER_CASES } from './auditCases.ts';
import { WEBHOOK_CASES } from './webhookCases.ts';
import { AuditSetup, type Entry, ORIGIN } from './auditSetup.ts';
import { tablesOf } from '../imports/imported.ts';

let setup: AuditSetup;
let actorId = '';

beforeAll(async () => {
  setup = await AuditSetup.start();
  actorId = (await setup.service.storage.records.listRootKeys())[0]?.id ?? '';
});

afterAll(async () => {
  await setup.service.close();
});

const CASES = { ...OTHER_CASES, ...WEBHOOK_CASES };

/** POST endpoints that change nothing, or only what a verification changes: the counters of a key. */
const UNTOLD = ['keys.whoami', 'reservations.settle', 'reservations.release'];

describe('every management route that changes something', () => {
  test('is in the table of this test', () => {
    const changing = ROUTES.filter(({ method }) => method === 'POST').map(({ path }) => path.replace('/v1/', ''));
    expect(changing.filter((route) => !(route in CASES) && !UNTOLD.includes(route))).toEqual([]);
  });

  test.each(Object.entries(CASES))(
    '%s tells once who did what, from what to what, when, from where and by which request',
    async (route, make) => {
      const { body, expected } = await make(setup);
      const { entries, body: answer, requestId } = await setup.told(route, body);
      const facts = entries.map(({ action, target, before, after }) => [action, target, before, after]);
      expect(facts).toEqual(expected(answer) as unknown as typeof facts);
      const { clock } = setup.service;
      for (const { actor, origin, requestId: by, time } of entries) {
        expect([actor, origin, by, time]).toEqual([actorId, ORIGIN, requestId ?? '', clock.nowMs()]);
      }
    },
  );

  test('no secret and no digest stands in any entry', () => {
    const { service, secrets } = setup;
    expect(secrets.length).toBeGreaterThan(20);
    const rows = JSON.stringify(tablesOf(service)['audit_entries']);
    const { digestSecret } = service.engine.system;
    expect(secrets.filter((secret) => rows.includes(secret) || rows.includes(digestSecret(secret)))).toEqual([]);
    expect(rows).not.toMatch(/[A-Za-z0-9+/]{43}=/);
  });
});

test('a call that is refused, and one that only reads, tell nothing', async () => {
  const apiId = await setup.api();
  const before = await setup.newestId();
  for (const [path, body] of [
    ['/v1/apis.createApi', { name: 'a' }],
    ['/v1/keys.deleteKey', { keyId: 'key_none' }],
    ['/v1/keys.createKey', { apiId, refill: { interval: 'daily', amount: 1 } }],
    ['/v1/apis.listApis', {}],
    ['/v1/rootKeys.listRootKeys', {}],
  ] as const) {
    await setup.service.call(path, body);
  }
  expect(await setup.newestId()).toBe(before);
});

test('what the service does of itself is told as done by system, without an address', async () => {
  const { service } = setup;
  const { rootKey } = await service.engine.rootKeys.create({ name: 'x', rights: ['*'], expiresAtMs: null });
  expect(await setup.entries({ target: rootKey.id })).toEqual([
    {
      id: expect.stringMatching(/^\d+$/),
      time: service.clock.nowMs(),
      actor: 'system',
      action: 'rootKey.create',
      target: rootKey.id,
      after: { name: 'x', start: rootKey.start, permissions: ['*'] },
    },
  ]);
});

test('behind a trusted proxy the origin is the address that it tells', async () => {
  const trusting = await TestService.start({ settings: { KEYSTILE_TRUSTED_PROXIES: '10.0.0.0/8' } });
  try {
    const headers = { 'x-forwarded-for': '192.0.2.44' };
    await trusting.ok('/v1/apis.createApi', { name: 'abc' }, { peer: '10.1.1.1', headers });
    await trusting.ok('/v1/apis.createApi', { name: 'abc' }, { peer: '203.0.113.9', headers });
    const { entries } = await trusting.ok('/v1/audit.listEntries', { action: 'api.create' });
    expect(entries.map(({ origin }: Entry) => origin)).toEqual(['203.0.113.9', '192.0.2.44']);
  } finally {
    await trusting.close();
  }
});
