import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';
import { AnalyticsApiSetup, DAY_MS, HOUR_MS, MINUTE_MS, NOW, valid, ZERO } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
beforeEach(async () => {
  setup = await AnalyticsApiSetup.make();
});
afterEach(() => setup.service.close());

describe('what stays', () => {
  test('everything after a clean stop', async () => {
    const { key } = await setup.createKey();
    await setup.verifyTimes(key, 3);
    await setup.service.restart();
    await setup.verifyTimes(key, 2);
    expect(await setup.ask()).toEqual([valid(5)]);
  });

  test('after a crash all that was written down, and no more than what was counted since then is lost', async () => {
    const { key } = await setup.createKey();
    await setup.verifyTimes(key, 3);
    await setup.service.engine.countWriting.flush();
    await setup.verifyTimes(key, 2);
    const folder = mkdtempSync(join(tmpdir(), 'keystile-crash-'));
    cpSync(setup.service.folder, folder, { recursive: true });
    const { rootKey } = setup.service;
    const after = await TestService.start({ folder, startsAt: NOW });
    const rows = await after.ok('/v1/analytics.getVerifications', { apiId: setup.apiId }, { rootKey });
    await after.close();
    rmSync(folder, { recursive: true });
    expect(rows).toEqual([valid(3)]);
  });

  test('minutes, hours and days each for their time', async () => {
    const { key } = await setup.createKey();
    await setup.service.verify(key);
    const start = Date.parse(NOW);
    const read = async () => {
      await setup.service.engine.countWriting.prune(setup.service.clock.nowMs());
      const span = async (each: 'minute' | 'hour' | 'day') =>
        (
          await setup.service.storage.analytics.sum({
            span: each,
            apiId: setup.apiId,
            keyIds: null,
            identityIds: null,
            fromMs: 0,
            untilMs: setup.service.clock.nowMs(),
            groupBy: [],
          })
        )[0]?.counts[0];
      return [await span('minute'), await span('hour'), await span('day')];
    };
    await setup.service.engine.countWriting.flush();
    await setup.service.engine.countWriting.fold();
    setup.service.clock.set(start + 2 * DAY_MS);
    expect(await read()).toEqual([1, 1, 1]);
    setup.service.clock.advance(1);
    expect(await read()).toEqual([0, 1, 1]);
    setup.service.clock.set(start + 60 * DAY_MS + 1);
    expect(await read()).toEqual([0, 0, 1]);
    setup.service.clock.set(Date.parse('2026-03-15T00:00:00Z') + 800 * DAY_MS + 1);
    expect(await read()).toEqual([0, 0, 0]);
  });

  test('what is asked without a group of time comes from the finest counts that are kept', async () => {
    const { key } = await setup.createKey();
    await setup.service.verify(key);
    await setup.service.engine.countWriting.flush();
    await setup.service.engine.countWriting.fold();
    const start = Date.parse(NOW) + MINUTE_MS;
    const end = start + MINUTE_MS;
    expect(await setup.ask({ start, end })).toEqual([ZERO]);
    setup.service.clock.advance(3 * DAY_MS);
    await setup.service.engine.countWriting.prune(setup.service.clock.nowMs());
    expect(await setup.ask({ start, end })).toEqual([valid(1)]);
    expect(await setup.ask({ start: start + HOUR_MS, end: end + HOUR_MS })).toEqual([ZERO]);
    setup.service.clock.advance(60 * DAY_MS);
    expect(await setup.ask({ start: start + HOUR_MS, end: end + HOUR_MS })).toEqual([valid(1)]);
  });
});
