import type { TestService } from '../../test/support/service.ts';

const DAY_MS = 86_400_000;
export const DAYS = 30;

/** The records that the pictures show. */
export interface Sample {
  readonly apiId: string;
  readonly keyId: string;
  readonly customer: string;
}

const CUSTOMERS = ['Acme Inc.', 'Northwind', 'Globex', 'Initech', 'Umbra Labs', 'Blue Fjord', 'Hooli', 'Vandelay'];

/** A month of a small business: three plans, eight customers, and traffic that grows, with weekends. The clock ends at the present. */
export async function makeSample(service: TestService): Promise<Sample> {
  const apiId = await service.createApi('Weather API');
  await service.createApi('Maps API');
  const planIds = await makePlans(service);
  const keys: { keyId: string; key: string; busyness: number }[] = [];
  for (const [i, name] of CUSTOMERS.entries()) {
    const externalId = name
      .toLowerCase()
      .replaceAll(/[^a-z]+/g, '-')
      .replace(/-$/, '');
    await service.ok('/v1/identities.createIdentity', { externalId, name, meta: { country: 'DE' } });
    await service.ok('/v1/plans.assign', { externalId, planId: planIds[i % planIds.length] });
    for (const place of ['production', 'staging'].slice(0, 1 + (i % 2))) {
      const made = await service.createKey({
        apiId,
        externalId,
        name: `${name} ${place}`,
        prefix: 'wx',
      });
      keys.push({ ...made, busyness: CUSTOMERS.length - i });
    }
  }
  const limited = {
    name: 'Crawler',
    prefix: 'wx',
    remaining: 400,
    refill: { interval: 'daily', amount: 400 },
    ratelimits: [
      { name: 'requests', limit: 40, duration: 60_000, async: true },
      { name: 'exports', limit: 2_000, duration: DAY_MS, async: false },
    ],
  };
  const crawler = await service.createKey({ apiId, ...limited });
  for (let day = 0; day < DAYS; day++) {
    const isWeekend = day % 7 >= 5;
    for (let hour = 0; hour < 24; hour += 2) {
      service.clock.advance(DAY_MS / 12);
      for (const { key, busyness } of keys) {
        const count = Math.round((busyness * (10 + day) * (isWeekend ? 0.4 : 1) * dayShape(hour)) / 40);
        for (let i = 0; i < count; i++) await service.verify(key);
      }
      for (let i = 0; i < 44 * dayShape(hour); i++) await service.verify(crawler.key);
    }
    await service.engine.countWriting.flush();
  }
  for (let minute = 0; minute < 30; minute++) {
    service.clock.advance(60_000);
    for (const { key, busyness } of keys) for (let i = 0; i < busyness; i++) await service.verify(key);
    for (let i = 0; i < 3; i++) await service.verify(crawler.key);
  }
  for (let i = 0; i < 14; i++) await service.verify(crawler.key);
  await service.engine.countWriting.flush();
  await service.engine.countWriting.fold();
  return { apiId, keyId: crawler.keyId, customer: 'acme-inc' };
}

async function makePlans(service: TestService): Promise<string[]> {
  const ids: string[] = [];
  for (const [name, amount, limit] of [
    ['Business', 4_000, 100],
    ['Pro', 2_500, 20],
    ['Free', 1_500, 2],
  ] as const) {
    const refill = { interval: 'monthly', amount };
    const ratelimits = [{ name: 'requests', limit, duration: 1000, async: true }];
    const plan = { name, remaining: amount, refill, ratelimits };
    ids.push(((await service.ok('/v1/plans.createPlan', plan)) as { planId: string }).planId);
  }
  return ids;
}

/** More in the afternoon than at night. */
function dayShape(hour: number): number {
  return 0.3 + Math.max(0, Math.sin(((hour - 6) / 24) * 2 * Math.PI));
}
