import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { AuditSetup, type Entry, ORIGIN } from './auditSetup.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { TestService } from '../../support/service.ts';
import { CASES } from './auditCases.ts';
import { tablesOf } from '../imports/imported.ts';
import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { shortenedEntry } from '../../../src/engine/admin/change/applyChange.ts';
import type { AuditEntry } from '../../../src/storage/port/auditEntries.ts';
import { describeLongValue } from '../../../src/basics/longValue.ts';
import { entriesAbout } from './entries.ts';

describe('audit.listEntries', () => {
  let setup: AuditSetup;
  /** Apis that were made, one a second, the oldest first. */
  const apiIds: string[] = [];
  let firstAtMs = 0;

  beforeAll(async () => {
    setup = await AuditSetup.start();
    firstAtMs = setup.service.clock.nowMs() + 1000;
    for (let i = 0; i < 5; i++) {
      setup.service.clock.advance(1000);
      apiIds.push(await setup.api());
    }
  });

  afterAll(async () => {
    await setup.service.close();
  });

  const targets = (entries: readonly Entry[]): string[] => entries.map(({ target }) => target);
  const newestFirst = (): string[] => apiIds.toReversed();

  async function asked(body: object, rootKey?: string) {
    const answer = await setup.service.call('/v1/audit.listEntries', body, rootKey === undefined ? {} : { rootKey });
    return { status: answer.status, ...answer.body.error };
  }

  test('lists newest first; ids are numbers as strings and only grow', async () => {
    const entries = await setup.entries({ action: 'api.create' });
    expect(targets(entries)).toEqual(newestFirst());
    const ids = entries.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect(entries.map(({ time }) => time)).toEqual([4, 3, 2, 1, 0].map((i) => firstAtMs + i * 1000));
  });

  test('pages by cursor, without a gap and without one twice; the last page has none', async () => {
    const { service } = setup;
    const all = await setup.entries();
    const found: Entry[] = [];
    let body: { limit: number; cursor?: string } = { limit: 2 };
    for (;;) {
      const page = await service.ok('/v1/audit.listEntries', body);
      expect(Object.keys(page).every((name) => ['entries', 'cursor'].includes(name))).toBe(true);
      found.push(...page.entries);
      if (page.cursor === undefined) break;
      expect([page.entries.length, page.cursor]).toEqual([2, page.entries[1].id]);
      body = { limit: 2, cursor: page.cursor };
    }
    expect(found).toEqual(all);
    expect((await service.ok('/v1/audit.listEntries', { limit: all.length })).cursor).toBeUndefined();
  });

  test('filters by actor, action and target, alone and together', async () => {
    const [first = '', second = ''] = apiIds;
    await setup.ok('apis.updateApi', { apiId: first, name: 'another' });
    expect((await setup.entries({ target: first })).map(({ action }) => action)).toEqual(['api.update', 'api.create']);
    expect(targets(await setup.entries({ target: first, action: 'api.create' }))).toEqual([first]);
    expect(await setup.entries({ target: second, action: 'api.update' })).toEqual([]);
    const actor = (await setup.entries({ target: first }))[0]?.actor;
    expect(targets(await setup.entries({ actor, action: 'api.create' }))).toEqual(newestFirst());
    expect((await setup.entries({ actor: 'system' })).map(({ action }) => action)).toEqual(['rootKey.create']);
    expect(await setup.entries({ actor: 'rk_none' })).toEqual([]);
  });

  test('start is the first millisecond that counts, end the first that does not', async () => {
    const between = async (start: number | null, end: number | null) =>
      targets(
        await setup.entries({
          action: 'api.create',
          ...(start === null ? {} : { start: firstAtMs + start }),
          ...(end === null ? {} : { end: firstAtMs + end }),
        }),
      );
    const [a = '', b = '', c = '', d = '', e = ''] = apiIds;
    expect(await between(1000, 3000)).toEqual([c, b]);
    expect(await between(1001, 3001)).toEqual([d, c]);
    expect(await between(3000, null)).toEqual([e, d]);
    expect(await between(null, 1000)).toEqual([a]);
    expect(await between(2000, 2001)).toEqual([c]);
    expect(await between(2001, 2002)).toEqual([]);
  });

  test('needs the right to read it; rights on apis do not count', async () => {
    const make = async (...rights: string[]) =>
      (await setup.service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
    expect(await asked({}, await make('api.*.read_api', 'root.*.read_root_key'))).toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
      message: 'This root key lacks the right root.*.read_audit.',
    });
    expect((await asked({}, await make('root.*.read_audit'))).status).toBe(200);
  });

  test.each<[string, object, string]>([
    ['a limit of 0', { limit: 0 }, 'limit'],
    ['a limit of 101', { limit: 101 }, 'limit'],
    ['a cursor that is no number', { cursor: 'key_1' }, 'cursor'],
    ['a cursor past all numbers', { cursor: '9999999999999999' }, 'cursor'],
    ['a cursor of another type', { cursor: 5 }, 'cursor'],
    ['a start that is no time', { start: 'yesterday' }, 'start'],
    ['a negative end', { end: -1 }, 'end'],
    ['an empty actor', { actor: '' }, 'actor'],
    ['an unknown filter', { targets: 'x' }, 'targets'],
  ])('%s is a 400', async (_name, body, path) => {
    const { status, issues } = await asked(body);
    expect([status, issues.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
  });

  test('what is kept stays as it was: reading, and a restart, change nothing', async () => {
    const before = await setup.entries();
    await setup.service.restart();
    expect(await setup.entries()).toEqual(before);
  });
});

describe('the entries of changes', () => {
  let setup: AuditSetup;
  let actorId = '';

  beforeAll(async () => {
    setup = await AuditSetup.start();
    actorId = (await setup.service.storage.records.listRootKeys())[0]?.id ?? '';
  });

  afterAll(async () => {
    await setup.service.close();
  });

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
});

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
