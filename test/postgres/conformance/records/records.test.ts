import { expect, test, describe, setDefaultTimeout } from 'bun:test';

import { describePort } from '../adapters.ts';
import { api, EVERY_KEY, found, identity, key, removal, write, namespace, override, entry } from '../samples.ts';
import type { OverrideRecord } from '../../../../src/model/overrides.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { until } from '../../../../tools/cluster/wait.ts';
import type { RecordChange } from '../../../../src/storage/port/freshness.ts';
import type { PostgresStorage } from '../../../../src/storage/postgres/storage.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { open, postgresServer } from '../postgres.ts';

describePort('records', (setup) => {
  test('a key is found by id and by digest exactly as it was written, with its identity', async () => {
    const { storage } = setup();
    const owner = identity('id_1', 'user-7', { meta: '{"plan":"pro"}' });
    const written = key('key_1', {
      identityId: 'id_1',
      name: 'köy ✓',
      meta: '{"a":[1,{"b":null}]}',
      environment: 'live',
      enabled: false,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
      credits: {
        account: 5,
        refill: {
          interval: 'monthly',
          refillDay: 31,
          refillWeekday: null,
          timezone: 'Europe/Berlin',
          amount: 7,
          mode: 'add',
          max: Number.MAX_SAFE_INTEGER,
          sinceMs: 9,
        },
      },
      limits: [
        { name: 'default', limit: 3, durationMs: 1000, async: true, account: null },
        { name: 'strict', limit: 4, durationMs: 2000, async: false, account: 6 },
      ],
      ipAllowlist: ['10.0.0.0/8', '::1'],
      updatedAtMs: 8,
      revision: 12,
    });
    await write(storage, { kind: 'insertIdentity', identity: owner }, { kind: 'insertKey', key: written });
    const expected = found(written, { identity: owner });
    expect(await storage.records.findKey('key_1')).toEqual(expected);
    expect(await storage.records.findKeysByDigest(['digest of key_1'])).toEqual([expected]);
    expect(await storage.records.listKeys(EVERY_KEY)).toEqual({
      items: [expected],
      total: 1,
      cursor: null,
    });
  });

  test('answers to several digests stand in the order of the questions, null where there is none', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') }, { kind: 'insertKey', key: key('key_2') });
    const [one, two] = [found(key('key_1')), found(key('key_2'))];
    const asked = ['digest of key_2', 'nothing', 'digest of key_1', 'digest of key_2'];
    expect(await storage.records.findKeysByDigest(asked)).toEqual([two, null, one, two]);
    expect(await storage.records.findKeysByDigest([])).toEqual([]);
  });

  test('what was never written is not found', async () => {
    const { records } = setup().storage;
    expect(await records.findKey('key_none')).toBeNull();
    expect(await records.findApi('api_none')).toBeNull();
    expect(await records.findIdentity('nobody')).toBeNull();
    expect(await records.findRootKeyByDigest('none', 0)).toBeNull();
  });

  test('an api and an identity are found as they were written', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    );
    expect(await storage.records.findApi('api_1')).toEqual(api('api_1'));
    expect(await storage.records.findIdentity('user-7')).toEqual(identity('id_1', 'user-7'));
  });

  test('of many apis and identities those are found that exist', async () => {
    const { storage } = setup();
    const numbers = Array.from({ length: 1_200 }, (_, i) => i);
    const apis = numbers.slice(0, 600).map((i) => api(`api_${i}`));
    const identities = numbers.slice(0, 600).map((i) => identity(`id_${i}`, `user-${i}`));
    await write(
      storage,
      { kind: 'insertApi', api: api('api_gone', { deletedAtMs: 5 }) },
      ...apis.map((each) => ({ kind: 'insertApi', api: each }) as const),
      ...identities.map((each) => ({ kind: 'insertIdentity', identity: each }) as const),
    );
    const { records } = storage;
    expect(new Set(await records.findApis(['api_gone', ...numbers.map((i) => `api_${i}`)]))).toEqual(new Set(apis));
    expect(new Set(await records.findIdentities(numbers.map((i) => `user-${i}`)))).toEqual(new Set(identities));
    expect([await records.findApis([]), await records.findIdentities([])]).toEqual([[], []]);
  });

  test('a softly deleted key is found in no way, and its digest stays taken', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const deleted = key('key_1', { deletedAtMs: 5, revision: 2 });
    expect(await write(storage, { kind: 'updateKey', key: deleted, expect: 1 })).toMatchObject({ status: 'done' });
    expect(await storage.records.findKey('key_1')).toBeNull();
    expect(await storage.records.findKeysByDigest(['digest of key_1'])).toEqual([null]);
    const page = await storage.records.listKeys(EVERY_KEY);
    expect(page).toEqual({ items: [], total: 0, cursor: null });
    const again = key('key_2', { secretDigest: 'digest of key_1' });
    expect(await write(storage, { kind: 'insertKey', key: again })).toMatchObject({ status: 'stale' });
  });

  test('a removed key leaves its id and its digest free', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    await write(storage, removal('key_1', 1));
    expect(await storage.records.findKey('key_1')).toBeNull();
    expect(await write(storage, { kind: 'insertKey', key: key('key_1') })).toMatchObject({ status: 'done' });
  });

  test('an update or removal made from another revision is stale and changes nothing', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1', { revision: 3 }) });
    const renamed = key('key_1', { name: 'new', revision: 4 });
    const stale = { status: 'stale', nowMs: setup().clock.nowMs() };
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 2 })).toEqual(stale as never);
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 4 })).toEqual(stale as never);
    expect(await write(storage, removal('key_1', 2))).toEqual(stale as never);
    expect(await write(storage, removal('key_2', 1))).toEqual(stale as never);
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: null, revision: 3 } });
    expect(await write(storage, { kind: 'updateKey', key: renamed, expect: 3 })).toMatchObject({ status: 'done' });
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: 'new', revision: 4 } });
  });

  test('ids, digests and external ids are unique: the second of a name is stale', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
      { kind: 'insertKey', key: key('key_1') },
    );
    for (const second of [
      { kind: 'insertApi', api: api('api_1', { name: 'other' }) },
      { kind: 'insertIdentity', identity: identity('id_2', 'user-7') },
      { kind: 'insertIdentity', identity: identity('id_1', 'user-8') },
      { kind: 'insertKey', key: key('key_1', { secretDigest: 'another' }) },
      { kind: 'insertKey', key: key('key_2', { secretDigest: 'digest of key_1' }) },
    ] as const) {
      expect([second, (await write(storage, second)).status]).toEqual([second, 'stale'] as never);
    }
    expect(await storage.records.findApi('api_1')).toEqual(api('api_1'));
    expect(await storage.records.findIdentity('user-8')).toBeNull();
  });

  test('a stored key that cannot be read fails alone and names itself; the others are answered', async () => {
    const { storage } = setup();
    for (const [id, fields] of [
      ['key_1', { meta: '["no object"]' }],
      ['key_2', {}],
      ['key_3', { meta: '{broken' }],
      ['key_4', { limits: [{ name: 'x', limit: -1, durationMs: 0, async: true, account: null }] }],
    ] as const) {
      await write(storage, { kind: 'insertKey', key: key(id, fields) });
    }
    const asked = ['key_1', 'key_2', 'key_3', 'key_4'];
    const byDigest = await storage.records.findKeysByDigest(asked.map((id) => `digest of ${id}`));
    const listed = await storage.records.listKeys(EVERY_KEY);
    for (const answers of [byDigest, listed.items]) {
      expect(answers.map((each) => (each !== null && 'poisoned' in each ? each.poisoned : null))).toEqual([
        'key_1',
        null,
        'key_3',
        'key_4',
      ]);
    }
  });

  test('a read sees every change that was answered before it was asked', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    for (let revision = 2; revision < 30; revision++) {
      await write(storage, { kind: 'updateKey', key: key('key_1', { revision }), expect: revision - 1 });
      expect(await storage.records.findKey('key_1')).toMatchObject({ key: { revision } });
      expect((await storage.records.listKeys(EVERY_KEY)).items).toMatchObject([{ key: { revision } }]);
    }
  });
});

const EXACT = override('ovr_1', 'user-7', { limit: 0, durationMs: 1000, async: true, updatedAtMs: 9 });
const WILD = override('ovr_2', 'user-*', { limit: Number.MAX_SAFE_INTEGER });
const OTHER = override('ovr_3', 'user-7', { namespaceId: 'ns_2' });

async function fill(storage: Storage): Promise<void> {
  await write(
    storage,
    { kind: 'insertNamespace', namespace: namespace('ns_1', 'emails') },
    { kind: 'insertNamespace', namespace: namespace('ns_2', 'Emails') },
    ...[WILD, EXACT, OTHER].map((each) => ({ kind: 'insertOverride' as const, override: each, expectPatterns: 0 })),
  );
}

describePort('namespaces and their overrides', (setup) => {
  test('a namespace is found by its name and by its id, in no other spelling', async () => {
    await fill(setup().storage);
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.findNamespace('emails')).toEqual({ ...namespace('ns_1', 'emails'), patternsRevision: 1 });
    expect(await records.findNamespace('Emails')).toEqual(namespace('ns_2', 'Emails'));
    expect(await records.findNamespaceById('ns_2')).toEqual(namespace('ns_2', 'Emails'));
    expect([await records.findNamespace('EMAILS'), await records.findNamespaceById('emails')]).toEqual([null, null]);
  });

  test('namespaces are counted, no further than asked', async () => {
    const { storage } = setup();
    await fill(storage);
    expect(await Promise.all([0, 1, 2, 3].map((upTo) => storage.records.countNamespaces(upTo)))).toEqual([0, 1, 2, 2]);
  });

  test('names of namespaces, and identifiers in one, are unique: the second is stale and changes nothing', async () => {
    const { storage } = setup();
    await fill(storage);
    for (const second of [
      { kind: 'insertNamespace', namespace: namespace('ns_9', 'emails') },
      { kind: 'insertNamespace', namespace: namespace('ns_1', 'other') },
      { kind: 'insertOverride', override: override('ovr_9', 'user-7'), expectPatterns: 1 },
      { kind: 'insertOverride', override: override('ovr_1', 'other'), expectPatterns: 1 },
      { kind: 'updateOverride', override: override('ovr_1', 'user-*'), expect: 0, expectPatterns: 1 },
      { kind: 'updateOverride', override: override('ovr_9', 'user-9'), expect: 0, expectPatterns: 1 },
      { kind: 'removeOverride', override: override('ovr_9', 'user-9'), expectPatterns: 1 },
      // Made from an older revision of the override, or of the patterns.
      { kind: 'updateOverride', override: { ...EXACT, limit: 7 }, expect: 1, expectPatterns: 1 },
      { kind: 'removeOverride', override: { ...EXACT, revision: 1 }, expectPatterns: 1 },
      { kind: 'insertOverride', override: override('ovr_9', 'team-*'), expectPatterns: 0 },
      { kind: 'updateOverride', override: { ...WILD, limit: 7 }, expect: 0, expectPatterns: 2 },
      { kind: 'removeOverride', override: WILD, expectPatterns: 0 },
    ] as const) {
      expect([second, (await write(storage, second)).status]).toEqual([second, 'stale'] as never);
    }
    expect(await storage.records.findNamespace('other')).toBeNull();
    expect(await storage.records.listAllOverrides('ns_1')).toEqual([EXACT, WILD]);
  });

  test('an override is found by its identifier to the letter, in its own namespace', async () => {
    const { storage } = setup();
    await fill(storage);
    const find = (namespaceId: string, identifier: string) => storage.records.findOverride(namespaceId, identifier);
    expect(await find('ns_1', 'user-7')).toEqual(EXACT);
    expect(await find('ns_1', 'user-*')).toEqual(WILD);
    expect(await find('ns_2', 'user-7')).toEqual(OTHER);
    for (const identifier of ['user-8', 'User-7', 'user-', '*', '%']) {
      expect([identifier, await find('ns_1', identifier)]).toEqual([identifier, null]);
    }
    expect(await find('ns_2', 'user-*')).toBeNull();
  });

  test('a changed override is seen by the next read, a removed one is gone and its identifier free', async () => {
    const { storage } = setup();
    await fill(storage);
    const changed: OverrideRecord = {
      ...EXACT,
      limit: 5,
      durationMs: 2000,
      async: false,
      updatedAtMs: 10,
      revision: 1,
    };
    const update = { kind: 'updateOverride', override: changed, expect: 0, expectPatterns: 1 } as const;
    expect((await write(storage, update)).status).toBe('done');
    expect(await storage.records.findOverride('ns_1', 'user-7')).toEqual(changed);
    await write(storage, { kind: 'removeOverride', override: changed, expectPatterns: 1 });
    expect(await storage.records.findOverride('ns_1', 'user-7')).toBeNull();
    expect(await storage.records.listAllOverrides('ns_1')).toEqual([WILD]);
    expect(await storage.records.listAllOverrides('ns_2')).toEqual([OTHER]);
    const again = override('ovr_9', 'user-7');
    expect((await write(storage, { kind: 'insertOverride', override: again, expectPatterns: 1 })).status).toBe('done');
  });

  test('pages hold the overrides of one namespace by id, and the total on each', async () => {
    const { storage } = setup();
    await fill(storage);
    await write(
      storage,
      ...Array.from({ length: 5 }, (_, i) => ({
        kind: 'insertOverride' as const,
        override: override(`o_${i}`, `${i}`),
        expectPatterns: 1,
      })),
    );
    const list = (limit: number, after: string | null) => storage.records.listOverrides('ns_1', { limit, after });
    const ids = ({ items }: { items: readonly OverrideRecord[] }) => items.map(({ id }) => id);
    const first = await list(4, null);
    expect([ids(first), first.total, first.cursor]).toEqual([['o_0', 'o_1', 'o_2', 'o_3'], 7, 'o_3']);
    const second = await list(4, first.cursor);
    expect([ids(second), second.total, second.cursor]).toEqual([['o_4', 'ovr_1', 'ovr_2'], 7, null]);
    expect(second.items.slice(1)).toEqual([EXACT, WILD]);
    expect(await storage.records.listOverrides('ns_9', { limit: 4, after: null })).toEqual({
      items: [],
      total: 0,
      cursor: null,
    });
  });
});

setDefaultTimeout(60_000);

const DAY_MS = 86_400_000;

interface Pair {
  readonly near: PostgresStorage;
  readonly far: PostgresStorage;
  readonly clock: VirtualClock;
  /** What the far node has heard. */
  readonly heard: readonly RecordChange[];
  readonly query: (sql: string) => Promise<Record<string, unknown>[]>;
}

/** Two nodes on a database of their own. */
async function withPair(work: (pair: Pair) => Promise<void>): Promise<void> {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const clock = new VirtualClock('2026-03-15T12:00:00Z');
  const nodes = [await open(url, clock), await open(url, clock)] as const;
  const heard: RecordChange[] = [];
  nodes[1].freshness.onChange((change) => heard.push(change));
  try {
    const query = (sql: string) => server.query(sql, new URL(url).pathname.slice(1));
    await work({ near: nodes[0], far: nodes[1], clock, heard, query });
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    await server.dropDatabase(url);
  }
}

const touched = (...keys: string[]): RecordChange => ({
  keys,
  apis: [],
  identities: [],
  plans: [],
  namespaces: [],
  rbac: false,
  rootKeys: false,
});

describe('the table of changes of a PostgreSQL database', () => {
  test('more entries than nodes take in at once, of changes that touch nothing kept, are not heard of', async () => {
    await withPair(async ({ near, heard, query }) => {
      const entries = Array.from({ length: 20 }, (_, i) => entry(`ratelimit.limit ${i}`));
      await Promise.all(Array.from({ length: 60 }, () => near.ledger.apply({ writes: [], accounts: [], entries })));
      await near.ledger.apply({ writes: [{ kind: 'insertApi', api: api('api_1') }], accounts: [], entries });
      await write(near, { kind: 'insertKey', key: key('key_1') });
      await until('the key is heard of', async () => heard.some(({ keys }) => keys === null || keys.length > 0));
      expect(heard).toEqual([touched('digest of key_1')]);
      expect(await query('SELECT count(*)::int AS entries FROM audit_entries')).toEqual([{ entries: 61 * 20 }]);
      expect(await query('SELECT number::int FROM change_counter')).toEqual([{ number: 1 }]);
    });
  });

  test('a change takes one number, however many entries it has', async () => {
    await withPair(async ({ near, heard, query }) => {
      const entries = [entry('identity.create'), entry('role.create'), entry('key.create')];
      const writes = [
        { kind: 'insertKey', key: key('key_1') },
        { kind: 'insertKey', key: key('key_2') },
      ] as const;
      await near.ledger.apply({ writes, accounts: [], entries });
      await until('it is heard of', async () => heard.length > 0);
      expect(heard).toEqual([touched('digest of key_1', 'digest of key_2')]);
      expect(await query('SELECT number::int FROM changes')).toEqual([{ number: 1 }]);
      expect(await query('SELECT action FROM audit_entries ORDER BY number')).toEqual(
        entries.map(({ action }) => ({ action })),
      );
    });
  });

  test('digests do not stay: they are removed with the numbered changes, and the entries have none', async () => {
    await withPair(async ({ near, clock, query }) => {
      const writes = [{ kind: 'insertKey', key: key('key_1') }] as const;
      await near.ledger.apply({ writes, accounts: [], entries: [entry('key.create')] });
      expect(await query('SELECT keys FROM changes')).toEqual([{ keys: ['digest of key_1'] }]);
      clock.advance(3 * DAY_MS);
      await near.ledger.prune();
      expect(await query('SELECT keys FROM changes')).toEqual([]);
      const entries = await query('SELECT * FROM audit_entries');
      expect(entries.length).toBe(1);
      expect(JSON.stringify(entries)).not.toContain('digest of');
    });
  });
});

describe('pruning of a PostgreSQL database', () => {
  test('goes on with everything else when one part fails, and then says so', async () => {
    await withPair(async ({ near, clock, query }) => {
      await write(near, { kind: 'insertKey', key: key('key_1') });
      const endedAtMs = clock.nowMs();
      await query(`INSERT INTO former_secrets VALUES ('digest', 'key_1', ${endedAtMs})`);
      const window = { owner: 'key_1', name: 'requests', durationMs: 60_000 };
      await near.ledger.openWindow(window, null);
      clock.advance(3 * DAY_MS);
      await query('ALTER TABLE local_counts RENAME TO away');
      for (const from of ['changes', 'former_secrets']) {
        expect(await query(`SELECT count(*)::int AS rows FROM ${from}`)).toEqual([{ rows: 1 }]);
      }
      const failure: unknown = await near.ledger.prune().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: '42P01', message: expect.stringContaining('local_counts') });
      for (const from of ['changes', 'former_secrets', 'adhoc_windows']) {
        expect(await query(`SELECT count(*)::int AS rows FROM ${from}`)).toEqual([{ rows: 0 }]);
      }
    });
  });
});
