import { expect, test } from 'bun:test';

import type { PortalSessionRecord } from '../../../../src/core/portalSession.ts';
import { PRUNE_GRACE_MS, type Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { rootKey, write } from '../samples.ts';

function session(id: string, fields: Partial<PortalSessionRecord> = {}): PortalSessionRecord {
  const of = { rootKeyId: 'rk_1', identityId: 'id_1', apiId: 'api_1', allow: [] };
  const times = { createdAtMs: 1_000, openedAtMs: null, untilMs: 9_000, changes: 0 };
  return { id, digest: `digest of ${id}`, ...of, ...times, keyDefaults: null, returnUrl: null, ...fields };
}

async function make(storage: Storage, ...sessions: readonly PortalSessionRecord[]): Promise<void> {
  await write(storage, { kind: 'insertRootKey', rootKey: rootKey('rk_1') });
  for (const each of sessions) {
    expect((await write(storage, { kind: 'insertPortalSession', session: each, most: 20 })).status).toBe('done');
  }
}

describePort('sessions of the portal', (setup) => {
  test('one is found by its secret, with its root key', async () => {
    const made = session('portal_1', {
      allow: ['create', 'delete'],
      keyDefaults: '{"prefix":"live"}',
      returnUrl: 'https://app.example.com/',
    });
    await make(setup().storage, made);
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
    await make(storage, session('portal_1'));
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
    expect(found?.session).toEqual(session('portal_1', { digest: winner, openedAtMs: 2_000, untilMs: 5_000 }));
  });

  test('those of an identity that have not ended are listed, the newest first', async () => {
    const { storage } = setup();
    await make(
      storage,
      session('portal_1'),
      session('portal_2', { createdAtMs: 2_000 }),
      session('portal_3', { untilMs: 5_000 }),
      session('portal_4', { identityId: 'id_2' }),
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
    await make(storage, session('portal_1'), session('portal_2'), session('portal_3', { identityId: 'id_2' }));
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
    await make(storage, session('portal_1'), session('portal_2', { rootKeyId: 'rk_2' }));
    await write(storage, { kind: 'endSessions', rootKeyId: 'rk_1' });
    expect(await storage.records.listPortalSessions('id_1', 1_000)).toEqual(['portal_2']);
  });

  test('what has ended is removed', async () => {
    const { storage, clock } = setup();
    const nowMs = clock.nowMs();
    await make(storage, session('portal_1', { untilMs: nowMs }), session('portal_2', { untilMs: nowMs + 1 }));
    clock.advance(PRUNE_GRACE_MS);
    await storage.ledger.prune();
    const found = await Promise.all(
      ['portal_1', 'portal_2'].map((id) => storage.records.findPortalSession(`digest of ${id}`)),
    );
    expect(found.map((each) => each?.session.id ?? null)).toEqual([null, 'portal_2']);
  });
});
