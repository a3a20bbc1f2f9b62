import { type Case, type CaseSetup, post, type Request } from './case.ts';

/** Makes a reservation of 40 that ends in this way, then asks. */
const after =
  (end: (id: string, setup: CaseSetup) => Promise<unknown>, ask: (reservationId: string) => Request): Case[1] =>
  async (setup) => {
    const { service, apiId } = setup;
    const { key } = await service.createKey({ apiId, remaining: 100 });
    const { reservationId } = await service.ok('/v1/reservations.create', { key, cost: 40, ttlMs: 1_000 });
    await end(reservationId, setup);
    return ask(reservationId);
  };

const settle = (reservationId: string, cost = 25): Request => post('reservations.settle', { reservationId, cost });
const release = (reservationId: string): Request => post('reservations.release', { reservationId });

const isSettled = (reservationId: string, { service }: CaseSetup): Promise<unknown> =>
  service.ok('/v1/reservations.settle', { reservationId, cost: 30 });
const isReleased = (reservationId: string, { service }: CaseSetup): Promise<unknown> =>
  service.ok('/v1/reservations.release', { reservationId });

const create =
  (fields: object): Case[1] =>
  ({ key }) =>
    post('reservations.create', { key, cost: 1, ...fields });

export const RESERVATIONS: readonly Case[] = [
  ['settling with another cost', after(isSettled, settle)],
  ['releasing what is settled', after(isSettled, release)],
  ['settling what is released', after(isReleased, settle)],
  [
    'settling with more than is held',
    after(
      async () => {},
      (id) => settle(id, 41),
    ),
  ],
  ['settling with a negative cost', ({ reservationId }) => settle(reservationId, -1)],
  ['a cost of 0', create({ cost: 0 })],
  ['a cost that is text', create({ cost: 'many' })],
  ['no cost', ({ key }) => post('reservations.create', { key })],
  ['credits as for a verification', create({ remaining: { cost: 1 } })],
  ['too short a time', create({ ttlMs: 999 })],
  ['too long a time', create({ ttlMs: 86_400_001 })],
  ['an unknown end', create({ onExpiry: 'keep' })],
  ['an unknown limit of a reservation', create({ ratelimits: [{ name: 'nope' }] })],
  ['an idempotency key that is too short, of a reservation', create({ idempotencyKey: 'a' })],
  ['an unknown state', ({ keyId }) => post('reservations.list', { keyId, state: 'open' })],
  ['a wrong cursor of reservations', ({ keyId }) => post('reservations.list', { keyId, cursor: 'x' })],
];
