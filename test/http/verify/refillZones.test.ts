import { afterEach, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

let service: TestService;

afterEach(async () => {
  await service.close();
});

const at = (time: string): number => Date.parse(time);

/** The first instants of three local days in a row; two of them lie around a transition. */
const ZONES: readonly [name: string, timezone: string, boundaries: readonly string[]][] = [
  ['the day of 23 hours', 'Europe/Berlin', ['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '2026-03-30T22:00:00Z']],
  ['the day of 25 hours', 'Europe/Berlin', ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', '2026-10-26T23:00:00Z']],
  ['a skipped midnight', 'Africa/Cairo', ['2026-04-22T22:00:00Z', '2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z']],
  ['a skipped midnight', 'America/Havana', ['2026-03-07T05:00:00Z', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
  ['a doubled midnight', 'America/Havana', ['2026-10-31T04:00:00Z', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z']],
  ['a half-hour offset', 'Asia/Kolkata', ['2026-03-14T18:30:00Z', '2026-03-15T18:30:00Z', '2026-03-16T18:30:00Z']],
  ['14 hours ahead', 'Pacific/Kiritimati', ['2026-12-30T10:00:00Z', '2026-12-31T10:00:00Z', '2027-01-01T10:00:00Z']],
];

test.each(ZONES)('%s in %s: one refill at the first instant of each local day', async (_name, timezone, boundaries) => {
  const [first = '', ...later] = boundaries;
  service = await TestService.start({ startsAt: first });
  const refill = { interval: 'daily', amount: 1, mode: 'add', timezone };
  const { keyId } = await service.createKey({ remaining: 0, refill });
  const read = () => service.ok('/v1/keys.getKey', { keyId });
  for (const [days, boundary] of later.entries()) {
    expect(await read()).toMatchObject({ refill: { nextRefillAt: at(boundary) } });
    service.clock.set(at(boundary) - 1);
    expect(await read()).toMatchObject({ remaining: days });
    service.clock.set(boundary);
    expect(await read()).toMatchObject({ remaining: days + 1, refill: { lastRefillAt: at(boundary) } });
  }
});

test('a monthly refill comes with the first instant of the local day, across the change of the offset', async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  const refill = { interval: 'monthly', amount: 10, timezone: 'Europe/Berlin' };
  const { keyId } = await service.createKey({ remaining: 0, refill });
  const read = () => service.ok('/v1/keys.getKey', { keyId });
  expect((await read()).refill.nextRefillAt).toBe(at('2026-03-31T22:00:00Z'));
  service.clock.set('2026-03-31T21:59:59.999Z');
  expect((await read()).remaining).toBe(0);
  service.clock.set('2026-03-31T22:00:00Z');
  expect(await read()).toMatchObject({ remaining: 10, refill: { nextRefillAt: at('2026-04-30T22:00:00Z') } });
});

test('KEYSTILE_TIMEZONE is the zone of refills that name none, and stays theirs when it changes', async () => {
  service = await TestService.start({
    startsAt: '2026-01-10T12:00:00Z',
    settings: { KEYSTILE_TIMEZONE: 'Europe/Berlin' },
  });
  const refill = { interval: 'daily', amount: 10 };
  const own = await service.createKey({ remaining: 0, refill });
  const named = await service.createKey({ remaining: 0, refill: { ...refill, timezone: 'UTC' } });
  const read = (from: TestService, keyId: string) => from.ok('/v1/keys.getKey', { keyId });
  expect((await read(service, own.keyId)).refill).toMatchObject({
    timezone: 'Europe/Berlin',
    nextRefillAt: at('2026-01-10T23:00:00Z'),
  });
  service.clock.set('2026-01-10T23:00:00Z');
  expect((await read(service, own.keyId)).remaining).toBe(10);
  expect((await read(service, named.keyId)).remaining).toBe(0);
  await service.stop();
  const later = await TestService.start({ folder: service.folder, startsAt: '2026-01-11T12:00:00Z' });
  try {
    expect((await read(later, own.keyId)).refill).toMatchObject({
      timezone: 'Europe/Berlin',
      nextRefillAt: at('2026-01-11T23:00:00Z'),
    });
  } finally {
    await later.close();
  }
});
