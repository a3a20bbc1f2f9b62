import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { AnalyticsApiSetup, type Fields, NOW, valid, ZERO } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
const started = reuseService();
beforeEach(async () => {
  setup = await AnalyticsApiSetup.on(started());
});

const cost = (credits: number): Fields => ({ remaining: { cost: credits } });

/** The credits of each row, with the field that the rows are grouped by. */
const creditsBy = async (group: string, fields: Fields = {}) =>
  (await setup.ask({ groupBy: [group], ...fields })).map((row) => [row[group], row['credits']]);

describe('credits beside the counts', () => {
  test('are the cost of every valid verification of a key with credits', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    await setup.service.verify(key);
    await setup.verifyTimes(key, 2, cost(10));
    await setup.service.verify(key, cost(0));
    expect(await setup.ask()).toEqual([valid(4, { credits: 21 })]);
    // Only one credit is left for every ten that it asks for.
    await setup.service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 1 });
    expect(await setup.service.verify(key, cost(10))).toMatchObject({ code: 'USAGE_EXCEEDED' });
    await setup.service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect(await setup.service.verify(key)).toMatchObject({ code: 'DISABLED' });
    expect(await setup.ask()).toEqual([{ ...valid(4), usageExceeded: 1, disabled: 1, total: 6, credits: 21 }]);
  });

  test('are none where nothing is spent: without credits, with strict limits alone, for an unknown key', async () => {
    await setup.service.verify((await setup.createKey()).key, cost(5));
    const strict = await setup.createKey({ ratelimit: { limit: 9, duration: 60_000, async: false } });
    await setup.service.verify(strict.key, cost(5));
    await setup.service.verify('unknown_key', { apiId: setup.apiId, ...cost(5) });
    expect(await setup.ask()).toEqual([{ ...valid(2), notFound: 1, total: 3 }]);
  });

  test('a remembered answer takes none', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    for (let n = 0; n < 3; n++) await setup.service.verify(key, { ...cost(7), idempotencyKey: 'the-same-key' });
    expect(await setup.ask()).toEqual([valid(3, { credits: 7 })]);
  });

  test('a reservation counts as a verification when it is made, and its credits when it is charged, under its tags', async () => {
    const { service, apiId } = setup;
    await service.ok('/v1/identities.createIdentity', { externalId: 'a seller' });
    const { key, keyId } = await setup.createKey({ remaining: 100_000, externalId: 'a seller' });
    const reserve = async (fields: Fields) =>
      (await service.ok('/v1/reservations.create', { key, cost: 4_000, ...fields })).reservationId as string;
    const settled = await reserve({ tags: ['model=large'] });
    const released = await reserve({ tags: ['model=large'] });
    const charged = await reserve({ ttlMs: 1_000, onExpiry: 'charge' });
    expect(await setup.ask()).toEqual([valid(3)]);
    await service.ok('/v1/reservations.settle', { reservationId: settled, cost: 2_750 });
    await service.ok('/v1/reservations.settle', { reservationId: settled, cost: 2_750 });
    await service.ok('/v1/reservations.release', { reservationId: released });
    expect(await setup.ask()).toEqual([valid(3, { credits: 2_750 })]);
    expect(await creditsBy('tag')).toEqual([
      ['model=large', 2_750],
      [undefined, 0],
    ]);
    service.clock.advance(1_000);
    await service.engine.dueCredits.endExpired();
    await service.engine.dueCredits.endExpired();
    expect(await service.ok('/v1/reservations.get', { reservationId: charged })).toMatchObject({ charged: 4_000 });
    expect(await setup.ask()).toEqual([valid(3, { credits: 6_750 })]);
    expect(await setup.ask({ groupBy: ['key'] })).toMatchObject([{ keyId, credits: 6_750 }]);
    expect(await setup.ask({ groupBy: ['identity'], apiId })).toMatchObject([{ credits: 6_750 }]);
  });

  test('those of an identity count like those of a key, and once where both pay', async () => {
    const identity = { externalId: 'acme', remaining: 1_000 };
    const { identityId: id } = await setup.service.ok('/v1/identities.createIdentity', identity);
    const [sharing, both, other] = [
      await setup.createKey({ externalId: 'acme' }),
      await setup.createKey({ externalId: 'acme', remaining: 50 }),
      await setup.createKey({ remaining: 50 }),
    ];
    await setup.service.verify(sharing.key, cost(20));
    await setup.verifyTimes(both.key, 2, cost(3));
    await setup.service.verify(other.key);
    expect(await setup.ask({ groupBy: ['identity'] })).toEqual([
      valid(3, { credits: 26, identity: { id, externalId: 'acme' } }),
      valid(1, { credits: 1 }),
    ]);
    expect(await creditsBy('keyId', { groupBy: ['key'], orderBy: 'credits' })).toEqual([
      [sharing.keyId, 20],
      [both.keyId, 6],
      [other.keyId, 1],
    ]);
    const answer = await setup.service.ok('/v1/keys.getVerifications', { ownerId: 'acme' });
    expect((answer.verifications as Fields[]).at(-1)).toMatchObject({ success: 3, credits: 26 });
    await setup.service.ok('/v1/identities.deleteIdentity', { externalId: 'acme', keys: 'delete' });
  });
});

describe('credits by group', () => {
  test('of tags, alone and together', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    await setup.service.verify(key, { ...cost(5), tags: ['eu', 'web'] });
    await setup.service.verify(key, { ...cost(2), tags: ['web'] });
    await setup.service.verify(key);
    const bySize = { orderBy: 'credits', order: 'desc' };
    expect(await creditsBy('tag', bySize)).toEqual([
      ['web', 7],
      ['eu', 5],
      [undefined, 1],
    ]);
    expect(await creditsBy('tags', bySize)).toEqual([
      [['eu', 'web'], 5],
      [['web'], 2],
      [[], 1],
    ]);
    expect(await setup.ask({ tag: 'web' })).toEqual([valid(2, { credits: 7 })]);
  });

  test('of hours, days and months, before and after they are folded', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    for (const [instant, credits] of [
      ['2026-02-10T10:30:00Z', 1],
      ['2026-03-14T23:59:59.999Z', 2],
      ['2026-03-15T00:00:00Z', 4],
      [NOW, 8],
    ] as const) {
      setup.service.clock.set(instant);
      await setup.service.verify(key, cost(credits));
    }
    const rowsBy = async (group: string) =>
      (await setup.ask({ groupBy: [group], start: 0 }))
        .filter(({ total }) => total !== 0)
        .map(({ time, credits }) => [new Date(time as number).toISOString().slice(0, 13), credits]);
    const expectAll = async (): Promise<void> => {
      expect(await rowsBy('hour')).toEqual([
        ['2026-02-10T10', 1],
        ['2026-03-14T23', 2],
        ['2026-03-15T00', 4],
        ['2026-03-15T12', 8],
      ]);
      expect(await rowsBy('day')).toEqual([
        ['2026-02-10T00', 1],
        ['2026-03-14T00', 2],
        ['2026-03-15T00', 12],
      ]);
      expect(await rowsBy('month')).toEqual([
        ['2026-02-01T00', 1],
        ['2026-03-01T00', 14],
      ]);
    };
    await expectAll();
    await setup.service.engine.countWriting.fold();
    await expectAll();
  });

  test('a sum stops at the largest whole number that is exact', async () => {
    const { key } = await setup.createKey({ remaining: Number.MAX_SAFE_INTEGER });
    const other = await setup.createKey({ remaining: Number.MAX_SAFE_INTEGER });
    for (const each of [key, other.key]) await setup.service.verify(each, cost(Number.MAX_SAFE_INTEGER - 1));
    const [row] = await setup.ask();
    expect(row).toEqual({ ...ZERO, valid: 2, total: 2, credits: Number.MAX_SAFE_INTEGER });
    expect((await setup.ask({ groupBy: ['key'] })).map(({ credits }) => credits)).toEqual([
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER - 1,
    ]);
  });
});
