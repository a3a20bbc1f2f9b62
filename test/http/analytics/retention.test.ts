import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';
import { AnalyticsWorld, DAY_MS, HOUR_MS, MINUTE_MS, NOW, valid, ZERO } from './analyticsSetup.ts';

let world: AnalyticsWorld;
beforeEach(async () => {
  world = await AnalyticsWorld.make();
});
afterEach(() => world.service.close());

describe('what stays', () => {
  test('everything after a clean stop', async () => {
    const { key } = await world.createKey();
    await world.verifyTimes(key, 3);
    await world.service.restart();
    await world.verifyTimes(key, 2);
    expect(await world.ask()).toEqual([valid(5)]);
  });

  test('after a crash all that was written down, and no more than what was counted since then is lost', async () => {
    const { key } = await world.createKey();
    await world.verifyTimes(key, 3);
    await world.service.engine.countWriting.flush();
    await world.verifyTimes(key, 2);
    const folder = mkdtempSync(join(tmpdir(), 'keystile-crash-'));
    cpSync(world.service.folder, folder, { recursive: true });
    const { rootKey } = world.service;
    const after = await TestService.start({ folder, startsAt: NOW });
    const rows = await after.ok('/v1/analytics.getVerifications', { apiId: world.apiId }, { rootKey });
    await after.close();
    rmSync(folder, { recursive: true });
    expect(rows).toEqual([valid(3)]);
  });

  test('minutes, hours and days each for their time', async () => {
    const { key } = await world.createKey();
    await world.service.verify(key);
    const start = Date.parse(NOW);
    const read = async () => {
      await world.service.engine.countWriting.prune(world.service.clock.nowMs());
      const span = async (each: 'minute' | 'hour' | 'day') =>
        (
          await world.service.storage.analytics.sum({
            span: each,
            apiId: world.apiId,
            keyIds: null,
            identityIds: null,
            fromMs: 0,
            untilMs: world.service.clock.nowMs(),
            groupBy: [],
          })
        )[0]?.counts[0];
      return [await span('minute'), await span('hour'), await span('day')];
    };
    await world.service.engine.countWriting.flush();
    await world.service.engine.countWriting.fold();
    world.service.clock.set(start + 2 * DAY_MS);
    expect(await read()).toEqual([1, 1, 1]);
    world.service.clock.advance(1);
    expect(await read()).toEqual([0, 1, 1]);
    world.service.clock.set(start + 60 * DAY_MS + 1);
    expect(await read()).toEqual([0, 0, 1]);
    world.service.clock.set(Date.parse('2026-03-15T00:00:00Z') + 800 * DAY_MS + 1);
    expect(await read()).toEqual([0, 0, 0]);
  });

  test('what is asked without a group of time comes from the finest counts that are kept', async () => {
    const { key } = await world.createKey();
    await world.service.verify(key);
    await world.service.engine.countWriting.flush();
    await world.service.engine.countWriting.fold();
    const start = Date.parse(NOW) + MINUTE_MS;
    const end = start + MINUTE_MS;
    expect(await world.ask({ start, end })).toEqual([ZERO]);
    world.service.clock.advance(3 * DAY_MS);
    await world.service.engine.countWriting.prune(world.service.clock.nowMs());
    expect(await world.ask({ start, end })).toEqual([valid(1)]);
    expect(await world.ask({ start: start + HOUR_MS, end: end + HOUR_MS })).toEqual([ZERO]);
    world.service.clock.advance(60 * DAY_MS);
    expect(await world.ask({ start: start + HOUR_MS, end: end + HOUR_MS })).toEqual([valid(1)]);
  });
});
