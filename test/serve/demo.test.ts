import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { fillDemo } from '../../src/serve/demo.ts';
import { TestService } from '../support/service.ts';

interface Customer {
  readonly externalId: string;
  readonly remaining: number;
  readonly planId: string;
}

interface Counts {
  readonly time: number;
  readonly keyId: string;
  readonly identity?: { readonly externalId: string };
  readonly total: number;
  readonly valid: number;
  readonly credits: number;
}

let service: TestService;
let customers: Customer[];
let months: Counts[];
const creditsOfPlan = new Map<string, number>();

beforeAll(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  await fillDemo((method, body) => service.ok(`/v1/${method}`, body), service.engine.storage);
  customers = [];
  for (let cursor: string | undefined; ;) {
    const page = await service.ok('/v1/identities.listIdentities', { limit: 100, ...(cursor && { cursor }) });
    customers.push(...(page.identities as Customer[]));
    if (page.cursor === undefined) break;
    cursor = page.cursor as string;
  }
  const { plans } = await service.ok('/v1/plans.listPlans', {});
  for (const { id, remaining } of plans as { id: string; remaining: number }[]) creditsOfPlan.set(id, remaining);
  const { apis } = await service.ok('/v1/apis.listApis', {});
  const counted = await Promise.all(
    (apis as { id: string }[]).map(({ id: apiId }) =>
      service.ok('/v1/analytics.getVerifications', {
        apiId,
        groupBy: ['month', 'identity', 'key'],
        start: Date.parse('2026-02-01T00:00:00Z'),
        end: service.clock.nowMs(),
      }),
    ),
  );
  months = counted.flat() as Counts[];
});

afterAll(() => service.close());

function used(externalId: string, month: string): number {
  const of = months.filter(({ time, identity }) => {
    return identity?.externalId === externalId && new Date(time).toISOString().startsWith(month);
  });
  return of.reduce((sum, { credits }) => sum + credits, 0);
}

describe('the demo says one thing', () => {
  test('no customer has used more in a month than its plan has', () => {
    expect(customers.length).toBe(200);
    const beyond = customers.filter(({ externalId, planId }) => {
      const most = creditsOfPlan.get(planId) ?? 0;
      return used(externalId, '2026-02') > most || used(externalId, '2026-03') > most;
    });
    expect(beyond.map(({ externalId }) => externalId)).toEqual([]);
    expect(Math.max(...customers.map(({ externalId }) => used(externalId, '2026-02')))).toBeGreaterThan(1_000);
  });

  test('the balance of each is what its plan has, without what was used since the last refill, and the statement agrees', async () => {
    const differing = customers.filter(({ externalId, planId, remaining }) => {
      return remaining !== (creditsOfPlan.get(planId) ?? 0) - used(externalId, '2026-03');
    });
    expect(differing.map(({ externalId }) => externalId)).toEqual([]);
    const [busiest] = customers.toSorted((a, b) => used(b.externalId, '2026-03') - used(a.externalId, '2026-03'));
    const { externalId = '' } = busiest ?? {};
    const { rows } = await service.ok('/v1/usage.getStatement', { externalId });
    const spent = (rows as { spent: number }[]).reduce((sum, row) => sum + row.spent, 0);
    expect(spent).toBe(used(externalId, '2026-03'));
  });

  test('a key that always refuses has always refused', () => {
    // The key that always refuses by its limit was valid once.
    const without = months.filter(({ identity, total }) => identity === undefined && total > 1);
    expect(new Set(without.map(({ keyId }) => keyId)).size).toBe(4);
    expect(without.filter(({ valid, credits }) => valid + credits > 0)).toEqual([]);
  });
});
