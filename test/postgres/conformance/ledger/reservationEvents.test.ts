import { afterAll, beforeAll, expect, test } from 'bun:test';

import { StorageUnavailable } from '../../../../src/storage/port/storage.ts';
import { ADAPTERS, Setup } from '../adapters.ts';
import { balanceOf, credits, openCredits, newReservation as wanted, spendOf } from '../samples.ts';

let setup: Setup;

beforeAll(async () => {
  const postgres = ADAPTERS.find(({ name }) => name === 'postgres');
  if (postgres === undefined) throw new Error('there is no adapter for PostgreSQL');
  setup = await Setup.make(postgres);
});

afterAll(() => setup.close());

test('postgres: a reservation does not end without its event: both are one commit', async () => {
  const { storage, clock } = setup;
  const account = await openCredits(storage, 100);
  const { reservation } = await storage.ledger.reserve(
    spendOf(credits(account, 40)),
    wanted('rsv_1', { cost: 40, ttlMs: 1_000, onExpiry: 'charge' }),
  );
  if (reservation === null) throw new Error('nothing was reserved');
  clock.advance(1_000);
  const ending = (id: string) => ({
    reservation,
    marks: [{ account, markMs: 0 }],
    event: { id, type: 'reservation.expired', data: '{}' } as const,
  });
  // The database takes no text with this character.
  expect(storage.ledger.expireReservations([ending('evt_\0')])).rejects.toBeInstanceOf(StorageUnavailable);
  await storage.ledger.expireReservations([ending('evt_\0')]).catch(() => []);
  expect((await storage.reservations.find('rsv_1'))?.state).toBe('held');
  expect((await storage.ledger.read([account]))[0]?.pockets).toMatchObject({ held: 40 });
  expect(await storage.ledger.expireReservations([ending('evt_1')])).toMatchObject([{ charged: 40 }]);
  expect((await storage.events.list({ after: 0, types: null, limit: 10 })).map(({ id }) => id)).toEqual(['evt_1']);
  expect(await balanceOf(storage, account)).toBe(60);
});
