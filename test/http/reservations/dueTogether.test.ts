import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(() => service.clock.set('2026-03-15T23:59:00Z'));

const MINUTE_MS = 60_000;
const DAILY = { remaining: 100, refill: { interval: 'daily', amount: 100 } };

async function reserve(fields: object, body: object): Promise<{ key: string; keyId: string; reservationId: string }> {
  const { key, keyId } = await service.createKey({ ...fields });
  const { reservationId } = await service.ok('/v1/reservations.create', { key, cost: 40, ...body });
  return { key, keyId, reservationId };
}

async function remaining(key: string): Promise<number> {
  return (await service.verify(key, { remaining: { cost: 0 } })).remaining;
}

describe('a refill and a reservation that expires are due at the same time', () => {
  test.each([
    ['nobody has used the key in between', false],
    ['somebody has', true],
  ])('a charge after the boundary comes after the refill, also when %s', async (_, isUsed) => {
    const { key } = await reserve(DAILY, { ttlMs: 10 * MINUTE_MS, onExpiry: 'charge' });
    service.clock.set('2026-03-16T00:01:00Z');
    if (isUsed) await remaining(key);
    service.clock.set('2026-03-16T00:11:00Z');
    expect(await remaining(key)).toBe(60);
  });

  test('a charge before the boundary is refilled', async () => {
    const { key } = await reserve(DAILY, { ttlMs: 1_000, onExpiry: 'charge' });
    service.clock.set('2026-03-16T00:11:00Z');
    expect(await remaining(key)).toBe(100);
  });

  test('the sweep of reservations keeps the same order', async () => {
    const { key } = await reserve(DAILY, { ttlMs: 10 * MINUTE_MS, onExpiry: 'charge' });
    service.clock.set('2026-03-16T00:11:00Z');
    await service.engine.dueCredits.endExpired();
    expect(await remaining(key)).toBe(60);
  });
});

describe('what a reservation does elsewhere', () => {
  test('one that holds nothing tells nobody when it expires, and is forgotten sooner', async () => {
    const { reservationId } = await reserve({}, { ttlMs: 1_000, onExpiry: 'charge' });
    service.clock.advance(1_000);
    await service.engine.dueCredits.endExpired();
    const { events } = await service.ok('/v1/events.listEvents', { types: ['reservation.expired'] });
    expect(
      events.filter(({ data }: { data: { reservationId: string } }) => data.reservationId === reservationId),
    ).toEqual([]);
    expect(await service.ok('/v1/reservations.get', { reservationId })).toMatchObject({ charged: 0 });
    await service.storage.reservations.prune(0, service.clock.nowMs() + 1);
    expect((await service.call('/v1/reservations.get', { reservationId })).status).toBe(404);
  });

  test('one of a metered key whose counter ends counts as used: nothing that happened is left out of the bill', async () => {
    const { keyId } = await reserve({ metered: true }, { ttlMs: 10 * MINUTE_MS });
    await service.ok('/v1/keys.updateKey', { keyId, remaining: 5 });
    const { rows } = await service.ok('/v1/usage.getStatement', { keyId, per: 'day' });
    expect(rows.reduce((sum: number, row: { spent: number }) => sum + row.spent, 0)).toBe(40);
  });
});
