import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import { LONG_WAL_BYTES } from '../../../src/core/health.ts';
import { WalWatch } from '../../../src/storage/sqlite/tasks.ts';
import { TestService } from '../../support/service.ts';

test('a long log of the database is told once, and once when it is short again', () => {
  let bytes = 0;
  const logged: string[] = [];
  const watch = new WalWatch(() => bytes, {
    warn: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
  });
  for (bytes of [0, LONG_WAL_BYTES, LONG_WAL_BYTES + 1, LONG_WAL_BYTES * 2, 4_096, 0]) watch.look();
  expect(logged).toEqual([
    expect.stringMatching(
      /^a write-ahead log \(keystile\.db-wal or analytics\.db-wal\) keeps growing: .* before the disk is full \{"mebibytes":256\}$/,
    ),
    'the write-ahead log of the database was reset {"mebibytes":0}',
  ]);
});

test('the log grows while another program reads, and is started anew when it has ended', async () => {
  const service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  try {
    const { keyId } = await service.createKey();
    const write = async (): Promise<number> => {
      for (let n = 0; n < 150; n++)
        await service.ok('/v1/keys.updateKey', { keyId, meta: { n, a: 'x'.repeat(15_000) } });
      return service.storage.walBytes;
    };
    const usual = await write();
    using backup = new Database(join(service.folder, 'keystile.db'), { readonly: true });
    backup.run('BEGIN');
    backup.query('SELECT count(*) FROM keys').get();
    const held = [await write(), await write()];
    expect(held[0]).toBeGreaterThan(usual);
    expect(held[1]).toBeGreaterThan(held[0] ?? 0);
    backup.run('COMMIT');
    const ended = await write();
    // It is written over from the beginning.
    expect([await write(), await write()]).toEqual([ended, ended]);
    expect(service.broken).toEqual([]);
  } finally {
    await service.close();
  }
});
