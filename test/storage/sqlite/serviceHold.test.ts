import { describe, expect, test } from 'bun:test';

import { MoveHold } from '../../../src/storage/sqlite/ledger/moveHold.ts';
import { ServiceHold } from '../../../src/storage/sqlite/move/serviceHold.ts';
import type { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';

const NOTE = { exportId: 'export_1', atMs: 0 };

/** A ledger whose queue moves on when the test says so, and the statements that were written. */
function setup() {
  const waiting: (() => void)[] = [];
  const written: string[] = [];
  const held = new MoveHold();
  const ledger = { findAnswer: () => new Promise<null>((done) => waiting.push(() => done(null))) };
  const call = async (_method: string, [{ sql }]: [{ sql: string }]) => void written.push(sql.split(' ')[0] ?? '');
  const hold = new ServiceHold(ledger, held, { call } as unknown as SqliteThread);
  const moveOn = async (): Promise<void> => {
    // The steps take turns: the next one asks the ledger only after the one before it.
    await new Promise((turn) => setImmediate(turn));
    waiting.shift()?.();
  };
  return { held, hold, written, moveOn };
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
    expect([await hold.release(), await hold.release()]).toEqual([true, false]);
    expect(held.held).toBe('nothing');
  });

  test('does nothing for an export that does not hold it, and finishes nothing before the accounts are held', async () => {
    const { held, hold, moveOn } = setup();
    const begun = hold.begin(NOTE.exportId);
    await moveOn();
    await begun;
    const message = (error: unknown): string => (error as Error).message;
    expect(await hold.holdAccounts({ ...NOTE, exportId: 'export_2' }).catch(message)).toBe(
      'The service is no longer held by this export. Run it again.',
    );
    expect(await hold.finish(NOTE.exportId).catch(message)).toBe('The accounts are not held: the export is not whole.');
    expect(await hold.letGo('export_2')).toBe(false);
    expect(held.held).toBe('changes');
  });
});
