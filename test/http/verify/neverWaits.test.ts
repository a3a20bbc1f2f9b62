import { afterAll, beforeAll, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  // Every flush takes longer than a thousand verifications from memory.
  service = await TestService.start({ addedFlushMs: 300 });
});

afterAll(async () => {
  await service.close();
});

test('while a commit is under way, keys without a counter and keys with a local limit are answered at once', async () => {
  const [plain, local, counted] = await Promise.all([
    service.createKey(),
    service.createKey({ ratelimit: { limit: 1000, duration: 3_600_000 } }),
    service.createKey({ remaining: 5 }),
  ]);
  await Promise.all([service.verify(plain.key), service.verify(local.key), service.verify(counted.key)]);
  let isCommitted = false;
  const spend = service.verify(counted.key).then((verdict) => {
    isCommitted = true;
    return verdict;
  });
  for (let i = 0; i < 100; i++) {
    expect(await service.verify(plain.key)).toMatchObject({ valid: true });
    expect(await service.verify(local.key)).toMatchObject({ valid: true, ratelimit: { remaining: 998 - i } });
  }
  expect(isCommitted).toBe(false);
  expect(await spend).toMatchObject({ valid: true, remaining: 3 });
});
