import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { TestService } from '../../support/service.ts';
import { usageCalls } from './usageCalls.ts';

const DAY_MS = 86_400_000;

async function prune(service: TestService): Promise<void> {
  const { nowMs } = service.clock;
  const clocks = { monotonicMs: nowMs, wallClockMs: nowMs };
  const log = { warn: () => {}, info: () => {}, error: () => {} };
  const { tasks } = engineTasks({ engine: service.engine, syncIntervalMs: 250, log, ...clocks });
  const task = tasks.find(({ name }) => name === 'removing old statements');
  await task?.run({ rest: async () => true, until: async (event) => event });
}

test.each([
  ['25 months', {}, 761],
  ['as long as the setting says', { KEYSTILE_STATEMENT_RETENTION: '30d' }, 30],
] as const)(
  'lines are kept for %s; balances stay, and the statement goes on from what is kept',
  async (_title, settings, days) => {
    const service = await TestService.start({ settings, startsAt: '2026-03-10T12:00:00Z' });
    const { shown, spend } = usageCalls(() => service);
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const gone = await service.createKey({ remaining: 3 });
    await service.ok('/v1/keys.deleteKey', { keyId: gone.keyId, permanent: true });
    service.clock.advance(DAY_MS);
    await spend(key, 4);
    service.clock.advance((days - 1) * DAY_MS);
    await spend(key, 1);
    await prune(service);
    expect((await shown({ keyId })).length).toBe(3);
    expect((await shown({ keyId: gone.keyId })).length).toBe(1);
    service.clock.advance(1);
    await prune(service);
    const rows = await shown({ keyId });
    expect(rows.map((row) => row.replace(/^.*: /, ''))).toEqual([
      'opening 10, spent 4, closing 6',
      'opening 6, spent 1, closing 5',
    ]);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
    // Nothing is left of it, not even that it was there.
    expect((await service.call('/v1/usage.getStatement', { keyId: gone.keyId, per: 'day' })).status).toBe(404);
    await service.stop();
  },
);

test('a payment that is reported again within 35 days tops up once, also where statements are kept for a day', async () => {
  const settings = { KEYSTILE_STATEMENT_RETENTION: '1d' };
  const service = await TestService.start({ settings, startsAt: '2026-03-10T12:00:00Z' });
  const { keyId } = await service.createKey({ remaining: 10 });
  const payment = { keyId, amount: 5, reason: 'a payment', idempotencyKey: 'payment-1' };
  const pay = async () => (await service.ok('/v1/credits.grant', payment)).remaining;
  expect(await pay()).toBe(15);
  service.clock.advance(35 * DAY_MS);
  await prune(service);
  expect(await pay()).toBe(15);
  service.clock.advance(1);
  await prune(service);
  expect(await pay()).toBe(20);
  await service.stop();
});
