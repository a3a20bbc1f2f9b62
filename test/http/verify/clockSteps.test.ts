import { beforeEach, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let service: TestService;
/** 12:01 of the test's day. */
let noonOne = 0;

const started = reuseService({ startsAt: '2026-03-15T12:00:10Z' });
beforeEach(() => {
  service = started();
  noonOne = service.clock.nowMs() + 50_000;
});

const limited = (async: boolean) => ({ ratelimit: { async, limit: 5, duration: MINUTE_MS } });

test('a clock that was an hour ahead leaves a local window that ends in time, with its count, also after a restart', async () => {
  const { key } = await service.createKey(limited(true));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  await service.engine.memory.localLimits.sync();
  service.clock.advance(-HOUR_MS);
  await service.restart();
  // What the window before the jump had counted was replaced in the file.
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 2, reset: noonOne });
  service.clock.set(noonOne);
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 4, reset: noonOne + MINUTE_MS });
});

test('without a restart it keeps the count of the window before the jump, too', async () => {
  const { key } = await service.createKey(limited(true));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  service.clock.advance(-HOUR_MS);
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 1, reset: noonOne });
});

test('a strict window never moves back: it runs until the time has come to which the clock was set', async () => {
  const { key } = await service.createKey(limited(false));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  service.clock.advance(-HOUR_MS);
  await service.restart();
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 2, reset: noonOne + HOUR_MS });
});
