import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { METERED_ZERO } from '../../../src/core/accountBook.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;
let count = 0;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

const update = (keyId: string, fields: object) => service.ok('/v1/keys.updateKey', { keyId, ...fields });
const read = (keyId: string) => service.ok('/v1/keys.getKey', { keyId });

async function usedBy(keyId: string): Promise<number> {
  const found = await service.storage.records.findKey(keyId);
  const account = found === null || 'poisoned' in found ? 0 : (found.key.credits?.account ?? 0);
  const [state] = await service.storage.ledger.read([account]);
  return METERED_ZERO - (state?.value ?? 0);
}

describe('metered', () => {
  test('counts exactly without a balance: no verdict and no reader shows one', async () => {
    const { key, keyId } = await service.createKey({ metered: true });
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, () => service.verify(key, { remaining: { cost: 3 } })),
    );
    expect(verdicts.filter(({ valid, remaining }) => valid && remaining === undefined).length).toBe(20);
    expect(await usedBy(keyId)).toBe(60);
    const shown = await read(keyId);
    expect([shown.metered, shown.remaining]).toEqual([true, undefined]);
    await update(keyId, { enabled: false });
    expect(await service.verify(key)).toMatchObject({ code: 'DISABLED', valid: false });
    expect((await service.verify(key)).remaining).toBeUndefined();
    expect(await usedBy(keyId)).toBe(60);
  });

  test('a key that is metered and belongs to a customer with credits shows the credits of the customer', async () => {
    const externalId = `user-${++count}`;
    await service.ok('/v1/identities.createIdentity', { externalId, remaining: 5 });
    const { key } = await service.createKey({ externalId, metered: true });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4 });
    const { key: counted } = await service.createKey({ externalId: `user-${++count}`, remaining: 9 });
    await service.ok('/v1/identities.updateIdentity', { externalId: `user-${count}`, metered: true });
    expect(await service.verify(counted)).toMatchObject({ valid: true, remaining: 8 });
  });

  test('a balance ends where metering begins, and the other way round', async () => {
    const { key, keyId } = await service.createKey({ remaining: 1 });
    await service.verify(key);
    await update(keyId, { metered: true });
    expect(await service.verify(key)).toMatchObject({ valid: true });
    expect(await usedBy(keyId)).toBe(1);
    await update(keyId, { name: 'renamed' });
    await service.verify(key);
    expect(await usedBy(keyId)).toBe(2);
    await update(keyId, { remaining: 2 });
    expect(await service.verify(key)).toMatchObject({ remaining: 1 });
    expect((await read(keyId)).metered).toBeUndefined();
    await update(keyId, { metered: true });
    await update(keyId, { metered: false });
    expect((await service.verify(key)).remaining).toBeUndefined();
  });

  test('a plan meters its holders; moving to a plan with credits and back begins anew', async () => {
    const plan = async (fields: object): Promise<string> =>
      (await service.ok('/v1/plans.createPlan', { name: `plan-${++count}`, ...fields })).planId;
    const [payg, fixed, free] = [await plan({ metered: true }), await plan({ remaining: 10 }), await plan({})];
    const externalId = `user-${++count}`;
    const { key } = await service.createKey({ externalId });
    const assign = (planId: string | null) => service.ok('/v1/plans.assign', { externalId, planId });
    const see = async () => {
      const { valid, remaining } = await service.verify(key);
      const { metered } = await service.ok('/v1/identities.getIdentity', { externalId });
      return { valid, remaining, metered };
    };
    await assign(payg);
    expect(await see()).toEqual({ valid: true, remaining: undefined, metered: true });
    await assign(fixed);
    expect(await see()).toEqual({ valid: true, remaining: 9, metered: undefined });
    await assign(payg);
    expect(await see()).toEqual({ valid: true, remaining: undefined, metered: true });
    await assign(free);
    expect(await see()).toEqual({ valid: true, remaining: undefined, metered: undefined });
  });

  test.each([
    ['/v1/keys.createKey', { apiId: 'API', metered: true, remaining: 5 }],
    ['/v1/plans.createPlan', { name: 'both', metered: true, remaining: 5 }],
    ['/v1/identities.createIdentity', { externalId: 'both-of-them', metered: true, remaining: 5 }],
  ])('%s refuses both at once', async (path, body) => {
    const given = 'apiId' in body ? { ...body, apiId: await service.createApi() } : body;
    const { status, body: answer } = await service.call(path, given);
    expect([status, (answer as { error: { message: string } }).error.message]).toEqual([
      400,
      'metered counts credits without a balance: leave out remaining and refill.',
    ]);
  });

  test('keys.updateRemaining sets a balance instead, and has nothing to add to', async () => {
    const { key, keyId } = await service.createKey({ metered: true });
    const call = (op: string, value: number) => service.call('/v1/keys.updateRemaining', { keyId, op, value });
    expect((await call('increment', 5)).status).toBe(400);
    expect((await call('set', 5)).body).toEqual({ remaining: 5 });
    expect(await service.verify(key)).toMatchObject({ remaining: 4 });
  });

  test('a plan with a refill does not refill it', async () => {
    const refill = { interval: 'daily', amount: 10, mode: 'add' };
    const { planId } = await service.ok('/v1/plans.createPlan', { name: `plan-${++count}`, remaining: 5, refill });
    const { key, keyId } = await service.createKey({ metered: true });
    await service.ok('/v1/plans.assign', { keyId, planId });
    service.clock.advance(3 * 86_400_000);
    await service.verify(key, { remaining: { cost: 4 } });
    expect(await usedBy(keyId)).toBe(4);
  });

  test('one request cannot use up the counter', async () => {
    const { key, keyId } = await service.createKey({ metered: true });
    const { status, body } = await service.call('/v1/keys.verifyKey', { key, remaining: { cost: 2 ** 52 } });
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      400,
      'A metered verification costs at most 1000000000, got 4503599627370496.',
    ]);
    expect(await usedBy(keyId)).toBe(0);
  });

  test('credits.adjust brings it back up when a bill was paid', async () => {
    const { key, keyId } = await service.createKey({ metered: true });
    await service.verify(key, { remaining: { cost: 7 } });
    const adjust = { keyId, by: 5, reason: 'a bill', idempotencyKey: 'bill-0001' };
    expect(await service.ok('/v1/credits.adjust', adjust)).toMatchObject({ remaining: -2 });
    expect(await service.ok('/v1/credits.adjust', adjust)).toMatchObject({ remaining: -2, replayed: true });
    const most = 2 ** 52 - 1;
    const { status, body } = await service.call('/v1/credits.adjust', { keyId, by: most + 3, reason: 'a bill' });
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      412,
      `The key ${keyId} would have more than ${most} credits.`,
    ]);
  });

  test('there is nothing to grant to', async () => {
    const { keyId } = await service.createKey({ metered: true });
    const call = { keyId, amount: 5, reason: 'x', idempotencyKey: 'evt_metered' };
    const { status, body } = await service.call('/v1/credits.grant', call);
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      412,
      `The key ${keyId} is metered: it has no balance, so credits cannot be granted.`,
    ]);
  });
});
