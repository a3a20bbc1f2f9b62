import { expect, test } from 'bun:test';

import type { SessionRecord } from '../../../../src/core/records.ts';
import { PRUNE_GRACE_MS, type Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { rootKey, write } from '../samples.ts';
import type { PortalSessionRecord } from '../../../../src/core/portalSession.ts';

function session(id: string, fields: Partial<SessionRecord> = {}): SessionRecord {
  const times = { createdAtMs: 1_000, usedAtMs: 2_000, untilMs: 9_000 };
  return { id, digest: `digest of ${id}`, rootKeyId: 'rk_1', ...times, origin: null, browser: null, ...fields };
}

const insertion = (made: SessionRecord): RecordWrite => ({
  kind: 'insertSession',
  most: 50,
  session: made,
  expect: `digest of ${made.rootKeyId}`,
});

/** Root keys, and sessions of them. */
async function make(storage: Storage, ...sessions: readonly SessionRecord[]): Promise<void> {
  for (const id of ['rk_1', 'rk_2']) await write(storage, { kind: 'insertRootKey', rootKey: rootKey(id) });
  for (const each of sessions) expect((await write(storage, insertion(each))).status).toBe('done');
}

describePort('sessions', (setup) => {
  test('one is found by its secret, with its root key, and by its id', async () => {
    const made = session('ses_1', { origin: '203.0.113.7', browser: 'a browser' });
    await make(setup().storage, made);
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { records } = setup().storage;
      expect(await records.findSession('digest of ses_1')).toEqual({ session: made, rootKey: rootKey('rk_1') });
      expect(await records.findSessionById('ses_1')).toEqual(made);
      expect([await records.findSession('other'), await records.findSessionById('ses_2')]).toEqual([null, null]);
    }
  });

  test('none is made for a root key that was revoked, rotated or never was', async () => {
    const { storage } = setup();
    await make(storage);
    await write(storage, { kind: 'revokeRootKey', rootKeyId: 'rk_1', revokedAtMs: 1 });
    const rotated = { rootKeyId: 'rk_2', expect: 'digest of rk_2', secretDigest: 'new', start: 'root_' };
    await write(storage, { kind: 'rotateRootKey', ...rotated });
    for (const rootKeyId of ['rk_1', 'rk_2', 'rk_3'])
      expect((await write(storage, insertion(session('ses_1', { rootKeyId })))).status).toBe('stale');
    expect(await storage.records.listSessions(null, 0, 10)).toEqual([]);
  });

  test('a use moves its end, and none moves it back', async () => {
    const { storage } = setup();
    await make(storage, session('ses_1'));
    for (const [usedAtMs, untilMs] of [
      [4_000, 10_000],
      [3_000, 9_000],
    ] as const)
      await write(storage, { kind: 'useSession', sessionId: 'ses_1', usedAtMs, untilMs });
    expect(await storage.records.findSessionById('ses_1')).toMatchObject({ usedAtMs: 4_000, untilMs: 10_000 });
  });

  test('those that have not ended are listed, the newest first, up to a number, of some root keys or all', async () => {
    const { storage } = setup();
    const [old, ended] = [session('ses_1'), session('ses_2', { untilMs: 5_000 })];
    const young = session('ses_3', { createdAtMs: 3_000, rootKeyId: 'rk_2' });
    await make(storage, old, ended, young);
    const { records } = storage;
    expect(await records.listSessions(null, 5_000, 10)).toEqual([young, old]);
    expect(await records.listSessions(null, 5_000, 1)).toEqual([young]);
    expect(await records.listSessions(null, 9_000, 10)).toEqual([]);
    expect(await records.listSessions(['rk_1'], 4_999, 10)).toEqual([ended, old]);
    expect(await records.listSessions(['rk_2', 'rk_3'], 5_000, 10)).toEqual([young]);
    expect(await records.listSessions([], 5_000, 10)).toEqual([]);
  });

  test('one ends by itself, or all of a root key together; to end it again changes nothing', async () => {
    const { storage } = setup();
    await make(storage, session('ses_1'), session('ses_2'), session('ses_3', { rootKeyId: 'rk_2' }));
    const live = async () => (await storage.records.listSessions(null, 0, 10)).map(({ id }) => id).toSorted();
    for (let i = 0; i < 2; i++) {
      expect((await write(storage, { kind: 'endSession', sessionId: 'ses_1' })).status).toBe('done');
      expect(await live()).toEqual(['ses_2', 'ses_3']);
    }
    await write(storage, { kind: 'endSessions', rootKeyId: 'rk_1' });
    const used = { sessionId: 'ses_1', usedAtMs: 5_000, untilMs: 9_000 };
    expect((await write(storage, { kind: 'useSession', ...used })).status).toBe('done');
    expect(await live()).toEqual(['ses_3']);
  });

  test('two cannot have the same secret', async () => {
    const { storage } = setup();
    await make(storage, session('ses_1'));
    const same = session('ses_2', { digest: 'digest of ses_1' });
    expect((await write(storage, insertion(same))).status).toBe('stale');
  });

  test('those that have ended are removed, the others stay', async () => {
    const { storage, clock } = setup();
    const nowMs = clock.nowMs();
    await make(storage, session('ses_1', { untilMs: nowMs }), session('ses_2', { untilMs: nowMs + 1 }));
    clock.advance(PRUNE_GRACE_MS);
    await storage.ledger.prune();
    const [gone, kept] = [
      await storage.records.findSessionById('ses_1'),
      await storage.records.findSessionById('ses_2'),
    ];
    expect([gone, kept?.id]).toEqual([null, 'ses_2']);
  });
});

function portalSession(id: string, fields: Partial<PortalSessionRecord> = {}): PortalSessionRecord {
  const of = { rootKeyId: 'rk_1', identityId: 'id_1', apiId: 'api_1', allow: [] };
  const times = { createdAtMs: 1_000, openedAtMs: null, untilMs: 9_000, changes: 0 };
  return { id, digest: `digest of ${id}`, ...of, ...times, keyDefaults: null, returnUrl: null, ...fields };
}

async function makeLinks(storage: Storage, ...sessions: readonly PortalSessionRecord[]): Promise<void> {
  await write(storage, { kind: 'insertRootKey', rootKey: rootKey('rk_1') });
  for (const each of sessions) {
    expect((await write(storage, { kind: 'insertPortalSession', session: each, most: 20 })).status).toBe('done');
  }
}

describePort('sessions of the portal', (setup) => {
  test('one is found by its secret, with its root key', async () => {
    const made = portalSession('portal_1', {
      allow: ['create', 'delete'],
      keyDefaults: '{"prefix":"live"}',
      returnUrl: 'https://app.example.com/',
    });
    await makeLinks(setup().storage, made);
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { records } = setup().storage;
      const found = await records.findPortalSession('digest of portal_1');
      expect(found).toEqual({ session: made, rootKey: rootKey('rk_1') });
      expect(await records.findPortalSession('other')).toBeNull();
    }
  });

  test('a link is opened once: then only the secret of the browser finds it', async () => {
    const { storage } = setup();
    await makeLinks(storage, portalSession('portal_1'));
    const opening = (digest: string) =>
      write(storage, {
        kind: 'openPortalSession',
        sessionId: 'portal_1',
        expect: 'digest of portal_1',
        digest,
        openedAtMs: 2_000,
        untilMs: 5_000,
      });
    const statuses = (await Promise.all(['a', 'b', 'c'].map(opening))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(['done', 'stale', 'stale']);
    const winner = ['a', 'b', 'c'][statuses.indexOf('done')] ?? '';
    expect(await storage.records.findPortalSession('digest of portal_1')).toBeNull();
    const found = await storage.records.findPortalSession(winner);
    expect(found?.session).toEqual(portalSession('portal_1', { digest: winner, openedAtMs: 2_000, untilMs: 5_000 }));
  });

  test('those of an identity that have not ended are listed, the newest first', async () => {
    const { storage } = setup();
    await makeLinks(
      storage,
      portalSession('portal_1'),
      portalSession('portal_2', { createdAtMs: 2_000 }),
      portalSession('portal_3', { untilMs: 5_000 }),
      portalSession('portal_4', { identityId: 'id_2' }),
    );
    expect(await storage.records.listPortalSessions('id_1', 5_000)).toEqual(['portal_2', 'portal_1']);
    for (let i = 0; i < 2; i++) {
      const ending = { kind: 'endPortalSession', sessionId: 'portal_2', endedAtMs: 5_000 } as const;
      expect((await write(storage, ending)).status).toBe('done');
      expect(await storage.records.listPortalSessions('id_1', 5_000)).toEqual(['portal_1']);
    }
  });

  test('changes are counted up to a number, over all sessions of an identity, also those that have ended', async () => {
    const { storage } = setup();
    await makeLinks(
      storage,
      portalSession('portal_1'),
      portalSession('portal_2'),
      portalSession('portal_3', { identityId: 'id_2' }),
    );
    const counting = (sessionId: string, identityId = 'id_1') =>
      write(storage, { kind: 'countPortalChange', sessionId, identityId, most: 3 });
    expect((await counting('portal_1')).status).toBe('done');
    await write(storage, { kind: 'endPortalSession', sessionId: 'portal_1', endedAtMs: 2_000 });
    expect((await counting('portal_2')).status).toBe('done');
    expect((await counting('portal_2')).status).toBe('done');
    expect((await counting('portal_2')).status).toBe('stale');
    expect((await counting('portal_3', 'id_2')).status).toBe('done');
    expect((await storage.records.findPortalSession('digest of portal_2'))?.session.changes).toBe(2);
  });

  test('all that a root key made end with its sessions', async () => {
    const { storage } = setup();
    await makeLinks(storage, portalSession('portal_1'), portalSession('portal_2', { rootKeyId: 'rk_2' }));
    await write(storage, { kind: 'endSessions', rootKeyId: 'rk_1' });
    expect(await storage.records.listPortalSessions('id_1', 1_000)).toEqual(['portal_2']);
  });

  test('what has ended is removed', async () => {
    const { storage, clock } = setup();
    const nowMs = clock.nowMs();
    await makeLinks(
      storage,
      portalSession('portal_1', { untilMs: nowMs }),
      portalSession('portal_2', { untilMs: nowMs + 1 }),
    );
    clock.advance(PRUNE_GRACE_MS);
    await storage.ledger.prune();
    const found = await Promise.all(
      ['portal_1', 'portal_2'].map((id) => storage.records.findPortalSession(`digest of ${id}`)),
    );
    expect(found.map((each) => each?.session.id ?? null)).toEqual([null, 'portal_2']);
  });
});
