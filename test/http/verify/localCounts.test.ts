import { Database } from 'bun:sqlite';
import { beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const limited = () => service.createKey({ ratelimit: { limit: 10, duration: 3_600_000, async: true } });
const left = async (key: string): Promise<number> =>
  ((await service.verify(key)) as { ratelimit: { remaining: number } }).ratelimit.remaining;

test('a full disk: local limits are counted on; everything is saved when there is space again', async () => {
  const keys: string[] = [];
  for (let i = 0; i < 300; i++) keys.push((await limited()).key);
  for (const key of keys) expect(await left(key)).toBe(9);
  await service.storage.setMaxPages(1);
  expect(await service.engine.memory.localLimits.sync().catch(String)).toStartWith(
    'StorageUnavailable: Local counts cannot be saved (SQLITE_FULL',
  );
  expect(await left(keys[0] ?? '')).toBe(8);
  await service.storage.setMaxPages(null);
  await service.engine.memory.localLimits.sync();
  await service.restart();
  expect(await left(keys[0] ?? '')).toBe(7);
  for (const key of keys.slice(1)) expect(await left(key)).toBe(8);
});

test('counts that a thread had put together, and not written, are saved again by the next one', async () => {
  const { localCounts, analytics } = service.storage;
  const count = (owner: string) => ({ owner, name: 'a', durationMs: 3_600_000, count: 5, resetAtMs: 1e14 });
  let forgotten = 0;
  localCounts.onForgotten(() => forgotten++);
  await localCounts.sync([count('first')], false);
  using db = new Database(join(service.folder, 'analytics.db'));
  db.run('ALTER TABLE key_verdicts RENAME TO away');
  expect(await analytics.prune('minute', 0).catch(String)).toContain('The analytics cannot be written');
  db.run('ALTER TABLE away RENAME TO key_verdicts');
  await localCounts.sync([count('second')], true);
  expect(forgotten).toBe(1);
});

test('counts that cannot be read are none: the limit counts from nothing', async () => {
  const [{ key }, other] = [await limited(), await limited()];
  expect(await left(key)).toBe(9);
  using db = new Database(join(service.folder, 'analytics.db'));
  db.run('DROP TABLE local_counts');
  expect(await left(key)).toBe(8);
  expect(await left(other.key)).toBe(9);
});
