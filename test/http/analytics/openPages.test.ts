import { expect, test } from 'bun:test';

import type { AppError } from '../../../src/core/errors.ts';
import { type Actor, SYSTEM } from '../../../src/engine/admin/change/requireRight.ts';
import { SLICE } from '../../../src/engine/analytics/writeCounts.ts';
import { reuseService } from '../../support/reusedService.ts';

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
