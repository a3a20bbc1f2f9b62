import { expect, test } from 'bun:test';
import { setTimeout } from 'node:timers/promises';

import { Client } from 'pg';

import { type Verdict, Wire } from '../support/cluster/clients.ts';
import { Setup } from '../support/cluster/clusterSetup.ts';

const CUSTOMERS = 10_000;
/** Keys that one call creates, and changes that are asked for at one time. */
const [AT_ONCE, CALLERS] = [1_000, 16];
const CREDITS = [100_000, 200_000, 300_000];
const BOUND_MS = 1_000;
const [BEFORE_MS, AFTER_MS] = [3_000, 4_000];

interface Customer {
  readonly key: string;
  readonly plan: number;
  answers: number;
}

interface Seen {
  readonly sentAtMs: number;
  readonly plan: number;
  readonly isNew: boolean;
}

/** Runs work for each item, so many at a time. A connection that was closed just then is no failure: the work can be repeated. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const callers = Array.from({ length: CALLERS }, async () => {
    for (const item of rest) await work(item).catch(() => work(item));
  });
  await Promise.all(callers);
}

/** Half-way through, the middle one of three plans gets a permission, and each of its customers another refill. */
test(`${CUSTOMERS} customers on three plans, of which one changes under load: all follow within a second, and no balance jumps`, async () => {
  await using setup = await Setup.start();
  const { apiId } = await setup.ok(0, '/v1/apis.createApi', { name: 'plans' });
  await setup.ok(0, '/v1/permissions.createPermission', { name: 'reports.read', slug: 'reports.read' });
  const plans: unknown[] = [];
  for (const remaining of CREDITS) {
    const fields = { name: `plan of ${remaining}`, remaining, refill: { interval: 'monthly', amount: remaining } };
    plans.push((await setup.ok(0, '/v1/plans.createPlan', fields)).planId);
  }
  const customers: Customer[] = [];
  for (let first = 0; first < CUSTOMERS; first += AT_ONCE) {
    const keys = Array.from({ length: AT_ONCE }, (_, i) => ({ apiId, externalId: `customer ${first + i}` }));
    const made = (await setup.ok(0, '/v1/keys.createKeys', { keys })).keys as readonly { key: string }[];
    customers.push(...made.map(({ key }, i) => ({ key, plan: (first + i) % 3, answers: 0 })));
  }
  await forEach([...customers.keys()], (i) =>
    setup.ok(i % 3, '/v1/plans.assign', { externalId: `customer ${i}`, planId: plans[i % 3] }),
  );

  const seen: Seen[] = [];
  const loading = { isOver: false };
  const load = async (port: number): Promise<void> => {
    using wire = await Wire.open(port);
    while (!loading.isOver) {
      const customer = customers[Math.floor(Math.random() * CUSTOMERS)] as Customer;
      const sentAtMs = performance.now();
      const reply = await wire.verify({ key: customer.key });
      if (reply.kind !== 'verdict') throw new Error(JSON.stringify(reply));
      const { code, permissions, remaining } = reply.verdict as Verdict & { permissions: readonly string[] };
      customer.answers++;
      // Two requests of one customer may be answered in another order than they were decided in.
      const most = CREDITS[customer.plan] as number;
      expect({ code, isInRange: remaining !== undefined && remaining < most && remaining >= most - 1_000 }).toEqual({
        code: 'VALID',
        isInRange: true,
      });
      seen.push({ sentAtMs, plan: customer.plan, isNew: permissions.includes('reports.read') });
    }
  };
  const loads = setup.nodes.flatMap(({ port }) => [load(port), load(port)]);
  await setTimeout(BEFORE_MS);
  const askedAtMs = performance.now();
  const refill = { interval: 'daily', amount: 500_000 };
  await setup.ok(1, '/v1/plans.updatePlan', { planId: plans[1], permissions: [{ name: 'reports.read' }], refill });
  const answeredAtMs = performance.now();
  await setTimeout(AFTER_MS);
  loading.isOver = true;
  await Promise.all(loads);

  const old = seen.filter(({ sentAtMs }) => sentAtMs < askedAtMs - BOUND_MS);
  const late = seen.filter(({ sentAtMs }) => sentAtMs > answeredAtMs + BOUND_MS);
  expect([old.length > 0, late.length > 0]).toEqual([true, true]);
  expect(old.filter(({ isNew }) => isNew)).toEqual([]);
  expect(late.filter(({ isNew, plan }) => isNew !== (plan === 1))).toEqual([]);

  const database = new Client({ host: '127.0.0.1', port: setup.postgres.port, user: 'postgres', database: 'postgres' });
  await database.connect();
  try {
    const { rows } = await database.query<{ external_id: string; value: string }>(
      'SELECT i.external_id, a.value FROM identities i JOIN accounts a ON a.id = i.credits_account',
    );
    const balances = new Map(rows.map(({ external_id, value }) => [external_id, Number(value)]));
    const wrong = customers.filter(
      (each, i) => balances.get(`customer ${i}`) !== (CREDITS[each.plan] as number) - each.answers,
    );
    expect(wrong).toEqual([]);
  } finally {
    await database.end();
  }
}, 300_000);
