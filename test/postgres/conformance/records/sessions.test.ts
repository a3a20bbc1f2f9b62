import { expect, test } from 'bun:test';

import type { SessionRecord } from '../../../../src/core/records.ts';
import { PRUNE_GRACE_MS } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { rootKey, write } from '../samples.ts';

function session(id: string, fields: Partial<SessionRecord> = {}): SessionRecord {
  const times = { createdAtMs: 1_000, usedAtMs: 2_000, untilMs: 9_000 };
  return { id, digest: `digest of ${id}`, rootKeyId: 'rk_1', ...times, origin: null, browser: null, ...fields };
}

describePort('sessions', (setup) => {
  test('one is found by its secret, with its root key, and by its id', async () => {
    const made = session('ses_1', { origin: '203.0.113.7', browser: 'a browser' });
    await write(
      setup().storage,
      { kind: 'insertRootKey', rootKey: rootKey('rk_1') },
      { kind: 'insertSession', session: made },
    );
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { records } = setup().storage;
      expect(await records.findSession('digest of ses_1')).toEqual({ session: made, rootKey: rootKey('rk_1') });
      expect(await records.findSessionById('ses_1')).toEqual(made);
      expect([await records.findSession('other'), await records.findSessionById('ses_2')]).toEqual([null, null]);
    }
  });

  test('a use moves its end; those that have not ended are listed, the newest first, up to a number', async () => {
    const { storage } = setup();
    const [old, ended, young] = [
      session('ses_1'),
      session('ses_2', { untilMs: 5_000 }),
      session('ses_3', { createdAtMs: 3_000 }),
    ];
    for (const each of [old, ended, young]) await write(storage, { kind: 'insertSession', session: each });
    await write(storage, { kind: 'useSession', sessionId: 'ses_1', usedAtMs: 4_000, untilMs: 10_000 });
    const used = { ...old, usedAtMs: 4_000, untilMs: 10_000 };
    expect(await storage.records.listSessions(5_000, 10)).toEqual([young, used]);
    expect(await storage.records.listSessions(5_000, 1)).toEqual([young]);
    expect(await storage.records.listSessions(9_000, 10)).toEqual([used]);
  });

  test('one ends by itself, or all of a root key together; to end it again changes nothing', async () => {
    const { storage } = setup();
    for (const [id, rootKeyId] of [
      ['ses_1', 'rk_1'],
      ['ses_2', 'rk_1'],
      ['ses_3', 'rk_2'],
    ] as const)
      await write(storage, { kind: 'insertSession', session: session(id, { rootKeyId }) });
    const live = async () => (await storage.records.listSessions(0, 10)).map(({ id }) => id).toSorted();
    for (let i = 0; i < 2; i++) {
      expect((await write(storage, { kind: 'endSession', sessionId: 'ses_1' })).status).toBe('done');
      expect(await live()).toEqual(['ses_2', 'ses_3']);
    }
    await write(storage, { kind: 'endSessions', rootKeyId: 'rk_1' });
    expect(await live()).toEqual(['ses_3']);
    expect((await write(storage, { kind: 'useSession', sessionId: 'ses_1', usedAtMs: 1, untilMs: 2 })).status).toBe(
      'done',
    );
    expect(await live()).toEqual(['ses_3']);
  });

  test('two cannot have the same secret', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertSession', session: session('ses_1') });
    const same = session('ses_2', { digest: 'digest of ses_1' });
    expect((await write(storage, { kind: 'insertSession', session: same })).status).toBe('stale');
  });

  test('those that have ended are removed, the others stay', async () => {
    const { storage, clock } = setup();
    const nowMs = clock.nowMs();
    await write(storage, { kind: 'insertSession', session: session('ses_1', { untilMs: nowMs }) });
    await write(storage, { kind: 'insertSession', session: session('ses_2', { untilMs: nowMs + 1 }) });
    clock.advance(PRUNE_GRACE_MS);
    await storage.ledger.prune();
    expect([
      await storage.records.findSessionById('ses_1'),
      (await storage.records.findSessionById('ses_2'))?.id,
    ]).toEqual([null, 'ses_2']);
  });
});
