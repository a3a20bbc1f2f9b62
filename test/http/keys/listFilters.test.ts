import { beforeEach, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;
let apiId: string;

const started = reuseService();
beforeEach(async () => {
  service = started();
  apiId = await service.createApi();
});

const DAY_MS = 86_400_000;

/** Ids that are made in the same millisecond have no order. */
async function make(fields: Record<string, unknown>): Promise<{ keyId: string }> {
  service.clock.advance(1);
  return service.createKey({ apiId, ...fields });
}

async function list(fields: object): Promise<{ names: unknown[]; total: unknown; cursor: unknown }> {
  const { keys, total, cursor } = await service.ok('/v1/apis.listKeys', { apiId, ...fields });
  return { names: (keys as { name: string }[]).map(({ name }) => name), total, cursor };
}

test('keys are listed by their state, as it is at this moment, and without a total', async () => {
  await make({ name: 'plain' });
  await make({ name: 'off', enabled: false });
  await make({ name: 'ending', expires: service.clock.nowMs() + DAY_MS });
  await make({ name: 'off and ending', enabled: false, expires: service.clock.nowMs() + DAY_MS });
  expect(await list({ state: 'active' })).toEqual({ names: ['plain', 'ending'], total: undefined, cursor: undefined });
  expect((await list({ state: 'disabled' })).names).toEqual(['off', 'off and ending']);
  expect((await list({ state: 'expired' })).names).toEqual([]);
  service.clock.advance(DAY_MS);
  expect((await list({ state: 'active' })).names).toEqual(['plain']);
  expect((await list({ state: 'expired' })).names).toEqual(['ending']);
  expect((await list({})).total).toBe(4);
});

test('keys are listed by the plan that they follow, page by page', async () => {
  const { planId } = await service.ok('/v1/plans.createPlan', { name: 'pro' });
  await make({ name: 'first', externalId: 'user-1' });
  await make({ name: 'second', externalId: 'user-2' });
  const { keyId } = await make({ name: 'own' });
  await service.ok('/v1/plans.assign', { externalId: 'user-1', planId });
  await service.ok('/v1/plans.assign', { keyId, planId });
  const page = await list({ planId, limit: 1 });
  expect(page.names).toEqual(['first']);
  expect(await list({ planId, limit: 1, cursor: page.cursor })).toEqual({
    names: ['own'],
    total: undefined,
    cursor: undefined,
  });
  await service.ok('/v1/plans.assign', { externalId: 'user-2', planId });
  expect((await list({ planId })).names).toEqual(['first', 'second', 'own']);
  expect((await list({ planId: 'plan_unknown' })).names).toEqual([]);
});

test('a state that does not exist is refused in words', async () => {
  const { status, body } = await service.call('/v1/apis.listKeys', { apiId, state: 'deleted' });
  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain('state');
});
