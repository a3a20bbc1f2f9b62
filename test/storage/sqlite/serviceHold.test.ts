import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import type { Engine } from '../../../src/engine/engine.ts';
import { runMoveCommand } from '../../../src/serve/moveCommands.ts';
import { readWorkspaceId } from '../../../src/storage/sqlite/file/installation.ts';
import { noteMoved, releaseMoved } from '../../../src/storage/sqlite/file/movedNote.ts';
import { MoveHold } from '../../../src/storage/sqlite/ledger/moveHold.ts';
import { ServiceHold } from '../../../src/storage/sqlite/move/serviceHold.ts';
import type { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { planCalls } from '../../http/plans/planCalls.ts';
import { TestService } from '../../support/service.ts';

const message = (error: unknown): string => (error as Error).message;
const NOTE = { exportId: 'export_1', atMs: 0 };

/** A ledger whose queue moves on when the test says so, and the statements that were written. */
function setup() {
  const waiting: (() => void)[] = [];
  const written: string[] = [];
  const held = new MoveHold();
  const ledger = { findAnswer: () => new Promise<null>((done) => waiting.push(() => done(null))) };
  const disk = { isFull: false };
  const call = async (_method: string, [{ sql }]: [{ sql: string }]) => {
    if (disk.isFull) throw new Error('disk full');
    written.push(sql.split(' ')[0] ?? '');
  };
  const hold = new ServiceHold(ledger, held, { call } as unknown as SqliteThread);
  const moveOn = async (): Promise<void> => {
    // The steps take turns: the next one asks the ledger only after the one before it.
    await new Promise((turn) => setImmediate(turn));
    waiting.shift()?.();
  };
  return { held, hold, written, disk, moveOn };
}

describe('a service that is held for a move', () => {
  test('goes on without a note when the export dies while its accounts are being held', async () => {
    const { held, hold, written, moveOn } = setup();
    const begun = hold.begin(NOTE.exportId);
    await moveOn();
    await begun;
    expect(held.held).toBe('changes');
    const holding = hold.holdAccounts(NOTE);
    const letGo = hold.letGo(NOTE.exportId);
    await moveOn();
    await holding;
    expect(await letGo).toBe(true);
    expect([held.held, written]).toEqual(['nothing', ['INSERT', 'DELETE']]);
  });

  test('stays held when the export has finished before it dies, until it is released', async () => {
    const { held, hold, moveOn } = setup();
    const steps = [hold.begin(NOTE.exportId), hold.holdAccounts(NOTE), hold.finish(NOTE.exportId)];
    await moveOn();
    await moveOn();
    await Promise.all(steps);
    expect(await hold.letGo(NOTE.exportId)).toBe(false);
    expect(held.held).toBe('everything');
    // The next export learns that an earlier one may be in use, and ends without letting go.
    expect([await steps[0], await hold.begin('export_2'), await hold.letGo('export_2')]).toEqual([false, true, false]);
    expect(held.held).toBe('everything');
    expect([await hold.release(0), await hold.release(0)]).toEqual([true, false]);
    expect(held.held).toBe('nothing');
  });

  test('on a full disk stays held when the export dies, and goes on when there is space', async () => {
    const { held, hold, written, disk, moveOn } = setup();
    const steps = [hold.begin(NOTE.exportId), hold.holdAccounts(NOTE)];
    await moveOn();
    await moveOn();
    await Promise.all(steps);
    disk.isFull = true;
    const letGo = hold.letGo(NOTE.exportId).catch(message);
    const finish = hold.finish(NOTE.exportId).catch(message);
    expect([await letGo, await finish]).toEqual([
      'disk full',
      'The service is no longer held by this export. Run it again.',
    ]);
    expect([await hold.release(0).catch(message), held.held]).toEqual(['disk full', 'everything']);
    disk.isFull = false;
    expect(await hold.letGo(NOTE.exportId)).toBe(true);
    expect([held.held, written, await hold.release(0)]).toEqual(['nothing', ['INSERT', 'DELETE'], false]);
  });

  test('is asked to go on until it does', async () => {
    const { held, hold, disk, moveOn } = setup();
    const logged: string[] = [];
    const wentOn = Promise.withResolvers<void>();
    const warn = (text: string): void => {
      logged.push(text);
      if (text.endsWith('the service goes on')) wentOn.resolve();
    };
    const log = { warn, info: () => {} };
    const pause = async (): Promise<void> => {
      disk.isFull = logged.length < 3;
    };
    const engine = { localLimits: { unsavedSize: 0 }, countWriting: { flush: async () => {} } } as unknown as Engine;
    const asker = new AbortController();
    const movable = { hold, engine, log, pause };
    const holding = runMoveCommand(movable, { command: 'holdChanges', exportId: NOTE.exportId }, asker.signal);
    await moveOn();
    const answer = await holding;
    const accounts = hold.holdAccounts(NOTE);
    await moveOn();
    await accounts;
    disk.isFull = true;
    asker.abort();
    await wentOn.promise;
    expect([held.held, logged]).toEqual([
      'nothing',
      [
        'the service is held for a move: changes are refused',
        'the export has ended early, and the service cannot go on yet: it tries again',
        'the export has ended early, and the service cannot go on yet: it tries again',
        'the export has ended early: the service goes on',
      ],
    ]);
    await answer.body?.cancel();
  });

  test('does nothing for an export that does not hold it, and finishes nothing before the accounts are held', async () => {
    const { held, hold, moveOn } = setup();
    const begun = hold.begin(NOTE.exportId);
    await moveOn();
    await begun;
    expect(await hold.holdAccounts({ ...NOTE, exportId: 'export_2' }).catch(message)).toBe(
      'The service is no longer held by this export. Run it again.',
    );
    expect(await hold.finish(NOTE.exportId).catch(message)).toBe('The accounts are not held: the export is not whole.');
    expect(await hold.letGo('export_2')).toBe(false);
    expect(held.held).toBe('changes');
  });
});

test('spends after an expired reservation go on while records are copied, and changes with an audit entry do not', async () => {
  const service = await TestService.start();
  const { key, keyId } = await service.createKey({ remaining: 10 });
  await service.ok('/v1/reservations.create', { key, cost: 10 });
  await service.storage.move.begin(NOTE.exportId);
  service.clock.advance(600_001);
  expect(await service.ok('/v1/keys.verifyKey', { key })).toMatchObject({ valid: true, remaining: 9 });
  for (const [path, body] of [
    ['/v1/apis.createApi', { name: 'any' }],
    ['/v1/keys.updateRemaining', { keyId, op: 'increment', value: 5 }],
  ] as const)
    expect((await service.call(path, body)).status).toBe(503);
  await service.close();
});

test('while records are copied, the first spend of a key whose plan changes is refused, and others go on', async () => {
  const service = await TestService.start();
  const { plan, assign, holder } = planCalls(() => service, 'key');
  const refill = { interval: 'daily', amount: 10, mode: 'add' };
  const [now, next] = [await plan({ remaining: 10, refill }), await plan({ remaining: 50, refill })];
  const [changing, staying] = [await holder(now), await holder(now)];
  await assign(changing.who, next, { when: 'nextRefill' });
  await service.storage.move.begin(NOTE.exportId);
  service.clock.set('2026-03-16T00:00:00Z');
  const refused = await service.call('/v1/keys.verifyKey', { key: changing.key });
  expect([refused.status, refused.body.error]).toMatchObject([503, { code: 'UNAVAILABLE' }]);
  expect(await service.verify(staying.key)).toMatchObject({ valid: true, remaining: 19 });
  await service.storage.move.letGo(NOTE.exportId);
  expect(await service.verify(changing.key)).toMatchObject({ valid: true, remaining: 19 });
  await service.close();
});

test('a release adds an entry to the audit log, of a running service and of a stopped one', async () => {
  const service = await TestService.start();
  const { move } = service.storage;
  await move.begin(NOTE.exportId);
  await move.holdAccounts(NOTE);
  await move.finish(NOTE.exportId);
  expect([await move.release(7), await move.release(8)]).toEqual([true, false]);
  await service.stop();
  using db = new Database(join(service.folder, 'keystile.db'));
  noteMoved(db, NOTE);
  expect([releaseMoved(db, 9), releaseMoved(db, 10)]).toEqual([true, false]);
  const entry = { actor: 'cli', action: 'installation.release', target: readWorkspaceId(db) };
  const found = db.query("SELECT at_ms, actor, action, target FROM audit_entries WHERE action LIKE 'installation.%'");
  expect(found.all()).toEqual([
    { at_ms: 7, ...entry },
    { at_ms: 9, ...entry },
  ]);
  await service.close();
});
