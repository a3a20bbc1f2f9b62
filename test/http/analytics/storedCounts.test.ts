import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';
import { AnalyticsApiSetup, DAY_MS, HOUR_MS, MINUTE_MS, NOW, valid, ZERO } from './analyticsSetup.ts';
import type { AppError } from '../../../src/core/errors.ts';
import { type Actor, SYSTEM } from '../../../src/engine/admin/change/requireRight.ts';
import { SLICE } from '../../../src/engine/analytics/writeCounts.ts';
import { reuseService } from '../../support/reusedService.ts';

describe('what stays', () => {
  let setup: AnalyticsApiSetup;
  beforeEach(async () => {
    setup = await AnalyticsApiSetup.make();
  });
  afterEach(() => setup.service.close());

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

describe('lastUsedAt', () => {
  let setup: AnalyticsApiSetup;
  beforeEach(async () => {
    setup = await AnalyticsApiSetup.make();
  });
  afterEach(() => setup.service.close());

  const AT = Date.parse(NOW);

  async function writeDown(): Promise<void> {
    await setup.service.engine.countWriting.flush();
    await setup.service.engine.countWriting.fold();
  }

  async function shown(keyId: string): Promise<unknown> {
    await writeDown();
    return (await setup.service.ok('/v1/keys.getKey', { keyId })).lastUsedAt;
  }

  test('is absent until the first verification, then the instant of one, in getKey and listKeys', async () => {
    const { key, keyId } = await setup.createKey();
    expect(await shown(keyId)).toBeUndefined();
    setup.service.clock.set(AT + 1_234);
    await setup.service.verify(key);
    expect(await shown(keyId)).toBe(AT + 1_234);
    const { keys } = await setup.service.ok('/v1/apis.listKeys', { apiId: setup.apiId });
    expect(keys.map(({ lastUsedAt }: { lastUsedAt: number }) => lastUsedAt)).toEqual([AT + 1_234]);
  });

  test.each([
    ['packed', {}],
    ['kept as it is', { name: 'a name' }],
  ])('of a key that is %s moves at most once a minute', async (_how, fields) => {
    const { key, keyId } = await setup.createKey(fields);
    const after = async (milliseconds: number) => {
      setup.service.clock.set(AT + milliseconds);
      await setup.service.verify(key);
      return ((await shown(keyId)) as number) - AT;
    };
    expect([await after(1_000), await after(60_999), await after(61_000), await after(61_001)]).toEqual([
      1_000, 1_000, 61_000, 61_000,
    ]);
    // Two uses that are written down together: the later one counts.
    setup.service.clock.set(AT + 200_000);
    await setup.service.verify(key);
    expect(await after(300_500)).toBe(300_500);
  });

  test('a refused verification is a use too', async () => {
    const { key, keyId } = await setup.createKey({ enabled: false });
    await setup.service.verify(key);
    expect(await shown(keyId)).toBe(AT + 1);
  });

  test('stays after a restart', async () => {
    const { key, keyId } = await setup.createKey();
    await setup.service.verify(key);
    await writeDown();
    await setup.service.restart();
    expect((await setup.service.ok('/v1/keys.getKey', { keyId })).lastUsedAt).toBe(AT + 1);
  });
});

describe('tags beyond the bound of an api', () => {
  let setup: AnalyticsApiSetup;
  beforeEach(async () => {
    setup = await AnalyticsApiSetup.make({ KEYSTILE_ANALYTICS_TAG_LISTS: '2' });
  });
  afterEach(() => setup.service.close());

  /** What other background work does in a running service. */
  async function fold(): Promise<void> {
    await setup.service.engine.countWriting.flush();
    await setup.service.engine.countWriting.fold();
  }

  test('are shown under `other`, which is a tag like any other; totals are exact', async () => {
    const { key, keyId } = await setup.createKey();
    for (const tags of [['a'], ['b', 'a'], ['c'], ['d', 'a']]) await setup.verifyTimes(key, 2, { tags });
    await setup.verifyTimes(key, 1);
    expect(await setup.ask()).toEqual([valid(9)]);
    expect(await setup.ask({ groupBy: 'tags' })).toEqual([
      valid(4, { tags: ['other'] }),
      valid(2, { tags: ['a'] }),
      valid(2, { tags: ['a', 'b'] }),
      valid(1, { tags: [] }),
    ]);
    expect(await setup.ask({ groupBy: ['key', 'tag'] })).toEqual([
      valid(4, { keyId, tag: 'a' }),
      valid(4, { keyId, tag: 'other' }),
      valid(2, { keyId, tag: 'b' }),
      valid(1, { keyId }),
    ]);
    expect(await setup.ask({ tag: 'other' })).toEqual([valid(4)]);
    expect(await setup.ask({ tag: 'c' })).toEqual([ZERO]);
  });

  test('of a key that is refused count under `other` unless they are known; by key and outcome nothing changes', async () => {
    const { key } = await setup.createKey();
    const off = await setup.createKey({ enabled: false });
    await setup.verifyTimes(off.key, 1, { tags: ['a'] });
    await setup.verifyTimes(key, 1, { tags: ['a'] });
    await setup.verifyTimes(off.key, 2, { tags: ['a'] });
    await setup.verifyTimes(off.key, 3, { tags: ['random'] });
    const disabled = (count: number) => ({ ...ZERO, disabled: count, total: count });
    expect(await setup.ask({ groupBy: 'tags', keyId: off.keyId })).toEqual([
      { ...disabled(4), tags: ['other'] },
      { ...disabled(2), tags: ['a'] },
    ]);
    expect(await setup.ask({ keyId: off.keyId })).toEqual([disabled(6)]);
  });

  test('a restart forgets none of the lists that are in the sums', async () => {
    const { key } = await setup.createKey();
    for (const tags of [['a'], ['b']]) await setup.verifyTimes(key, 1, { tags });
    await fold();
    await setup.service.restart();
    const off = await setup.createKey({ enabled: false });
    await setup.verifyTimes(off.key, 1, { tags: ['none'] });
    await setup.service.engine.countWriting.learnTags();
    await setup.verifyTimes(off.key, 1, { tags: ['b'] });
    await setup.verifyTimes(key, 1, { tags: ['c'] });
    await setup.verifyTimes(key, 1, { tags: ['a'] });
    expect(await setup.ask({ groupBy: 'tags', orderBy: 'valid', order: 'desc' })).toEqual([
      valid(2, { tags: ['a'] }),
      { ...ZERO, valid: 1, disabled: 1, total: 2, tags: ['b'] },
      { ...ZERO, valid: 1, disabled: 1, total: 2, tags: ['other'] },
    ]);
  });
});

const started = reuseService();

test.each(['dashboard', 'portal'] as const)(
  'an open page (%s) makes the service write counts only while they are few; others are answered with all of them',
  async (via) => {
    const service = started();
    const apiId = await service.createApi('pages');
    const made = (await service.ok('/v1/keys.createKeys', {
      apiId,
      keys: Array.from({ length: SLICE + 1 }, () => ({ externalId: `customer_${via}` })),
    })) as { keys: { key: string }[] };
    const { analytics } = service.engine;
    const period = { granularity: 'day', startMs: null, endMs: null } as const;
    const seenBy = async (actor: typeof SYSTEM): Promise<number> => {
      const rows = await analytics.getKeyVerifications(actor, { ownerId: `customer_${via}` }, period);
      return rows.reduce((sum, { counts }) => sum + counts.VALID, 0);
    };
    const [first = { key: '' }, ...rest] = made.keys;
    await service.verify(first.key);
    expect(await seenBy({ ...SYSTEM, via })).toBe(1);
    for (const { key } of [first, ...rest]) await service.verify(key);
    // After this time the answer is not shared any more.
    service.clock.advance(2_000);
    expect(await seenBy({ ...SYSTEM, via })).toBe(1);
    expect(await seenBy(SYSTEM)).toBe(SLICE + 2);
  },
);

test('pages share an answer for two seconds; who may not read the key or api, or finds it deleted, gets no part of it', async () => {
  const service = started();
  const apiId = await service.createApi('shared');
  const { key, keyId } = await service.createKey({ apiId });
  const { analytics } = service.engine;
  const period = { startMs: null, endMs: null } as const;
  const page = { ...SYSTEM, via: 'dashboard' } as const;
  const ofKey = async (actor: Actor): Promise<number> => {
    const rows = await analytics.getKeyVerifications(actor, { keyId }, { ...period, granularity: 'day' });
    return rows.reduce((sum, { counts }) => sum + counts.VALID, 0);
  };
  const query = {
    apiId,
    externalId: null,
    keyIds: null,
    tags: null,
    groupBy: ['day'],
    limit: null,
    order: null,
  } as const;
  const ofApi = async (actor: Actor): Promise<number> => {
    const rows = await analytics.getVerifications(actor, { ...period, ...query });
    return rows.reduce((sum, { counts }) => sum + counts.VALID, 0);
  };
  const seenBy = async (actor: Actor): Promise<number[]> => [await ofKey(actor), await ofApi(actor)];
  await service.verify(key);
  expect(await seenBy(page)).toEqual([1, 1]);
  await service.verify(key);
  service.clock.advance(1_999);
  expect(await seenBy(page)).toEqual([1, 1]);
  expect(await seenBy(SYSTEM)).toEqual([2, 2]);
  const codeFor = async (ask: typeof ofKey, actor: Actor): Promise<unknown> =>
    ask(actor).catch((error: unknown) => (error as AppError).code);
  const stranger = { ...page, rights: ['api.other.read_key', 'api.other.read_analytics'] };
  expect([await codeFor(ofKey, stranger), await codeFor(ofApi, stranger)]).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  service.clock.advance(1);
  expect(await seenBy(page)).toEqual([2, 2]);
  await service.ok('/v1/apis.deleteApi', { apiId });
  expect([await codeFor(ofKey, page), await codeFor(ofApi, page)]).toEqual(['NOT_FOUND', 'NOT_FOUND']);
});
