import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';

import { TestService } from '../harness/service.ts';

let service: TestService;

beforeEach(async () => {
  service = await TestService.start();
});

afterEach(() => service.close());

const limited = () => service.createKey({ ratelimit: { limit: 10, duration: 3_600_000, async: true } });
const left = async (key: string): Promise<number> =>
  ((await service.verify(key)) as { ratelimit: { remaining: number } }).ratelimit.remaining;

test('a full disk: local limits are counted on; everything is saved when there is space again', async () => {
  const { key } = await limited();
  const { edge } = service.storage;
  const counts = (name: string) =>
    Array.from({ length: 300 }, (_, i) => {
      return { owner: `${name} ${i}`, name: 'x'.repeat(50), durationMs: 3_600_000, count: i, resetAtMs: 1e14 };
    });
  expect(await left(key)).toBe(9);
  // The slices of one round: none is written before the last.
  await edge.sync(counts('first'), false);
  await service.storage.setMaxPages(1);
  expect(await edge.sync(counts('second'), true).catch(String)).toStartWith(
    'StorageUnavailable: Local counts cannot be saved (SQLITE_FULL',
  );
  expect(await left(key)).toBe(8);
  await service.storage.setMaxPages(null);
  await service.engine.edge.sync();
  for (const name of ['first', 'second']) {
    for (const { owner, count } of counts(name)) expect(await edge.load(owner)).toMatchObject([{ count }]);
  }
  await service.restart();
  expect(await left(key)).toBe(7);
});

test('counts that cannot be read are none: the limit counts from nothing', async () => {
  const [{ key }, other] = [await limited(), await limited()];
  expect(await left(key)).toBe(9);
  using db = new Database(join(service.folder, 'analytics.db'));
  db.run('DROP TABLE edge_counts');
  expect(await left(key)).toBe(8);
  expect(await left(other.key)).toBe(9);
});
