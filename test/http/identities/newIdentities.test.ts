import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';
import { tablesOf } from '../imports/imported.ts';

let count = 0;
const newSecret = (): string => `live_secret-made-elsewhere-${++count}`;

/** Every call that can make a customer of a name that is unknown. */
type Way = (service: TestService, owner: object) => Promise<readonly [path: string, body: unknown]>;
const WAYS: readonly (readonly [string, Way])[] = [
  ['keys.createKey', async (service, owner) => ['/v1/keys.createKey', { apiId: await service.createApi(), ...owner }]],
  [
    'keys.createKeys',
    async (service, owner) => ['/v1/keys.createKeys', { apiId: await service.createApi(), keys: [{}, owner] }],
  ],
  [
    'keys.updateKey',
    async (service, owner) => ['/v1/keys.updateKey', { keyId: (await service.createKey()).keyId, ...owner }],
  ],
  [
    'migrations.createKeys',
    async (service, owner) => [
      '/v1/migrations.createKeys',
      [{ apiId: await service.createApi(), plaintext: newSecret(), ...owner }],
    ],
  ],
];

async function ask(service: TestService, way: Way, owner: object, rights?: readonly string[]) {
  const [path, body] = await way(service, owner);
  const rootKey =
    rights === undefined
      ? service.rootKey
      : (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
  const before = tablesOf(service);
  const { status, body: answer } = await service.call(path, body, { rootKey });
  if (status > 299) expect(tablesOf(service)).toEqual(before);
  return { status, code: answer?.error?.code, message: answer?.error?.message as string | undefined };
}

const identities = async (service: TestService): Promise<string[]> =>
  (await service.ok('/v1/identities.listIdentities', { limit: 100 })).identities.map(
    (each: { externalId: string }) => each.externalId,
  );

describe('a key whose owner must exist', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    for (const externalId of ['acme', 'globex', 'team-1', 'team-2', 'initech'])
      await service.ok('/v1/identities.createIdentity', { externalId });
  });
  afterAll(() => service.close());

  test.each(WAYS)('%s: a typo is a 404 that names it and what was meant, and changes nothing', async (_, way) => {
    const refused = await ask(service, way, { externalId: 'acmee', mustExist: true });
    expect([refused.status, refused.code]).toEqual([404, 'NOT_FOUND']);
    expect(refused.message).toEndWith(
      'There is no customer with the externalId "acmee". Did you mean "acme"? With mustExist, a new key creates no customer: use identities.createIdentity.',
    );
    expect((await ask(service, way, { ownerId: 'acmee', mustExist: true })).status).toBe(404);
    expect((await ask(service, way, { externalId: 'acme', mustExist: true })).status).toBe(200);
    expect(await identities(service)).not.toContain('acmee');
  });

  test.each(WAYS)('%s: without it the customer is created, as ever', async (_, way) => {
    for (const more of [{}, { mustExist: false }]) {
      const externalId = `new-${++count}`;
      expect((await ask(service, way, { externalId, ...more })).status).toBe(200);
      expect(await identities(service)).toContain(externalId);
    }
    // A key without an owner has none that must exist.
    expect((await ask(service, way, { mustExist: true })).status).toBe(200);
  });

  test('an import that waits tells it in its progress', async () => {
    const apiId = await service.createApi();
    const keys = [
      { plaintext: newSecret(), externalId: 'acmee', mustExist: true },
      { plaintext: newSecret(), externalId: 'acme', mustExist: true },
    ];
    const queued = await service.call('/v1/migrations.enqueueKeys', { migrationId: 'strict', apiId, keys });
    expect(queued.status).toBe(202);
    await service.engine.importQueue.run();
    const progress = await service.ok('/v1/migrations.getProgress', { migrationId: 'strict' });
    expect(progress).toMatchObject({ done: 1, failed: 1 });
    expect(JSON.stringify(progress)).toContain('There is no customer with the externalId');
  });

  test.each([
    ['acm', 'acme'],
    ['amce', 'acme'],
    ['ACME', 'acme'],
    ['acmé', 'acme'],
    ['gobex', 'globex'],
    ['team-3', 'team-2'],
    ['initechh', 'initech'],
    ['something else', null],
    ['a', null],
  ])('%s suggests %p', async (externalId, near) => {
    const { message = '' } = await ask(service, WAYS[0]?.[1] as Way, { externalId, mustExist: true });
    expect(/Did you mean "(.*)"\?/.exec(message)?.[1] ?? null).toBe(near);
  });

  test('of many names in one request only those that are shown are compared, and no long one', async () => {
    const apiId = await service.createApi();
    const spy = spyOn(service.storage.records, 'listNeighbours');
    const keys = Array.from({ length: 1000 }, (_, i) => ({ apiId, externalId: `nobody ${i}`, mustExist: true }));
    expect((await service.call('/v1/keys.createKeys', { keys })).status).toBe(404);
    expect(spy).toHaveBeenCalledTimes(10);
    const long = { apiId, externalId: 'x'.repeat(65), mustExist: true };
    expect((await service.call('/v1/keys.createKey', long)).status).toBe(404);
    expect(spy).toHaveBeenCalledTimes(10);
    spy.mockRestore();
  });

  test('what is near is told only to whoever may read it', async () => {
    const apiId = await service.createApi();
    const way: Way = async () => ['/v1/keys.createKey', { apiId, externalId: 'acmee', mustExist: true }];
    const [{ id = '' } = {}] = (await service.ok('/v1/identities.listIdentities', { search: 'acme' })).identities;
    const told = async (...rights: string[]) => {
      const { status, message = '' } = await ask(service, way, {}, [
        `api.${apiId}.create_key`,
        'identity.*.create_identity',
        ...rights,
      ]);
      expect([status, message.includes('"acmee"')]).toEqual([404, true]);
      return message.includes('"acme"');
    };
    expect(await told()).toBe(false);
    expect(await told('identity.id_other.read_identity')).toBe(false);
    expect(await told(`identity.${id}.read_identity`)).toBe(true);
    expect(await told('identity.*.read_identity')).toBe(true);
    // Who may name no owner learns nothing: not even that there is none.
    const refused = await ask(service, way, {}, [`api.${apiId}.create_key`]);
    expect([refused.status, refused.message]).toEqual([
      403,
      'This root key lacks the right identity.*.create_identity.',
    ]);
  });

  test('of many keys, each is told by its place', async () => {
    const apiId = await service.createApi();
    const keys = [{ externalId: 'acme' }, { externalId: 'acmee', mustExist: true }, { externalId: 'acmee' }];
    const { status, body } = await service.call('/v1/keys.createKeys', { apiId, keys });
    const issues = (body.error.issues as { path: string }[]).map(({ path }) => path);
    expect([status, issues]).toEqual([404, ['keys[1].externalId', 'keys[2].externalId']]);
  });
});

describe('with KEYSTILE_IDENTITIES_MUST_EXIST', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ settings: { KEYSTILE_IDENTITIES_MUST_EXIST: 'on' } });
    await service.ok('/v1/identities.createIdentity', { externalId: 'acme' });
  });
  afterAll(() => service.close());

  test.each(WAYS)('%s: no key makes a customer, whatever the request says', async (_, way) => {
    for (const more of [{}, { mustExist: false }, { mustExist: true }]) {
      const { status, message } = await ask(service, way, { externalId: 'acmee', ...more });
      expect(status).toBe(404);
      expect(message).toContain(
        'Did you mean "acme"? With KEYSTILE_IDENTITIES_MUST_EXIST, a new key creates no customer',
      );
    }
    expect((await ask(service, way, { externalId: 'acme' })).status).toBe(200);
    expect(await identities(service)).not.toContain('acmee');
  });

  test('every id that a key takes can be created first', async () => {
    for (const externalId of ['7', 'é', 'ab', 'x'.repeat(256)]) {
      await service.ok('/v1/identities.createIdentity', { externalId });
      await service.createKey({ externalId });
    }
    for (const externalId of ['', 'x'.repeat(257)])
      expect((await service.call('/v1/identities.createIdentity', { externalId })).status).toBe(400);
  });
});

describe('with KEYSTILE_DEFAULT_PLAN', () => {
  let service: TestService;
  let planId = '';
  beforeAll(async () => {
    service = await TestService.start({ settings: { KEYSTILE_DEFAULT_PLAN: 'free' } });
    planId = (
      await service.ok('/v1/plans.createPlan', {
        name: 'free',
        remaining: 5,
        refill: { interval: 'monthly', amount: 5 },
        ratelimits: [{ name: 'default', limit: 100, duration: 60_000 }],
        maxKeys: 2,
      })
    ).planId as string;
  });
  afterAll(() => service.close());

  const customer = (externalId: string) => service.ok('/v1/identities.getIdentity', { externalId });

  test.each(WAYS)('%s: a customer that it makes is on the plan, with its credits', async (_, way) => {
    const externalId = `new-${++count}`;
    expect((await ask(service, way, { externalId })).status).toBe(200);
    expect(await customer(externalId)).toMatchObject({ planId, remaining: 5, keys: 1 });
  });

  test('a key that gets such a customer and other credits tells its own balance, before and after', async () => {
    const { keyId } = await service.createKey({ remaining: 3 });
    await service.ok('/v1/keys.updateKey', { keyId, externalId: `new-${++count}`, remaining: 50 });
    const [entry] = (await service.ok('/v1/audit.listEntries', { target: keyId, action: 'key.update' })).entries;
    expect([entry.before.remaining, entry.after.remaining]).toEqual([3, 50]);
    const { events } = await service.ok('/v1/events.listEvents', { types: ['key.updated'] });
    const { before, after } = events.at(-1).data;
    expect([before.remaining, after.remaining]).toEqual([3, 50]);
  });

  test('the keys of a typo have the bounds of the plan, and are refilled with it', async () => {
    const { key } = await service.createKey({ externalId: 'acmee' });
    const codes: string[] = [];
    for (let i = 0; i < 6; i++) codes.push((await service.verify(key)).code);
    expect(codes).toEqual(['VALID', 'VALID', 'VALID', 'VALID', 'VALID', 'USAGE_EXCEEDED']);
    service.clock.set(Date.parse('2026-04-01T00:00:00Z'));
    expect(await service.verify(key)).toMatchObject({ code: 'VALID', remaining: 4 });
    await service.ok('/v1/plans.updatePlan', { planId, maxKeys: 3 });
    await service.ok('/v1/plans.updatePlan', { planId, maxKeys: 2 });
  });

  test('identities.createIdentity gives it too; what the customer has of its own stays', async () => {
    const create = (fields: object) => service.ok('/v1/identities.createIdentity', fields);
    await create({ externalId: 'plain', name: 'Plain' });
    expect(await customer('plain')).toMatchObject({ planId, remaining: 5, name: 'Plain' });
    await create({ externalId: 'richer', remaining: 2, ratelimits: [{ name: 'own', limit: 1, duration: 1000 }] });
    expect(await customer('richer')).toMatchObject({ planId, remaining: 2, ratelimits: [{ name: 'own' }] });
    // Credits of its own are refilled by the plan, as after plans.assign.
    service.clock.set(Date.parse('2026-05-01T00:00:00Z'));
    expect(await customer('richer')).toMatchObject({ remaining: 5 });
    await create({ externalId: 'counted', metered: true });
    expect(await customer('counted')).toMatchObject({ planId, metered: true });
    const entries = (await service.ok('/v1/audit.listEntries', { action: 'identity.create' })).entries as object[];
    expect(entries[0]).toMatchObject({ after: { externalId: 'counted', planId } });
  });

  test('the plan says how many keys the customer may have, from the first call on', async () => {
    const apiId = await service.createApi();
    const keys = [1, 2, 3].map(() => ({ externalId: 'greedy' }));
    const { status, body } = await service.call('/v1/keys.createKeys', { apiId, keys });
    expect([status, body.error.issues[0].path]).toEqual([412, 'keys[2]']);
    const imported = [1, 2, 3].map(() => ({ apiId, externalId: 'greedy', plaintext: newSecret() }));
    expect((await service.call('/v1/migrations.createKeys', imported)).status).toBe(412);
    await service.ok('/v1/keys.createKeys', { apiId, keys: keys.slice(1) });
    expect((await service.call('/v1/keys.createKey', { apiId, externalId: 'greedy' })).status).toBe(412);
    expect(await customer('greedy')).toMatchObject({ keys: 2, planId });
  });

  test('1,000 new customers of one call share the plan, and each has its own credits', async () => {
    const apiId = await service.createApi();
    const keys = Array.from({ length: 1_000 }, (_, i) => ({ externalId: `many-${i}` }));
    const made = (await service.ok('/v1/keys.createKeys', { apiId, keys })).keys as { key: string }[];
    expect((await service.verify(made[7]?.key ?? '')).remaining).toBe(4);
    expect((await service.verify(made[8]?.key ?? '')).remaining).toBe(4);
  });

  test('the plan cannot be deleted while customers are on it; without the plan, none is made', async () => {
    expect((await service.call('/v1/plans.deletePlan', { planId })).status).toBe(409);
    const other = await TestService.start({ settings: { KEYSTILE_DEFAULT_PLAN: 'free' } });
    for (const [_, way] of WAYS) {
      const { status, message } = await ask(other, way, { externalId: 'acme' });
      expect(status).toBe(412);
      expect(message).toEndWith(
        'KEYSTILE_DEFAULT_PLAN names the plan "free", which does not exist. Create that plan, or correct the setting.',
      );
    }
    expect((await other.call('/v1/identities.createIdentity', { externalId: 'acme' })).status).toBe(412);
    // A key without a customer needs no plan.
    await other.createKey();
    const made = await other.ok('/v1/plans.createPlan', { name: 'free', remaining: 1 });
    await other.createKey({ externalId: 'acme' });
    await other.ok('/v1/plans.assign', { externalId: 'acme', planId: null });
    await other.ok('/v1/plans.deletePlan', { planId: made.planId });
    expect((await other.call('/v1/identities.createIdentity', { externalId: 'globex' })).status).toBe(412);
    await other.close();
  });

  test('it may be named by its id', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'keystile-test-'));
    const first = await TestService.start({ folder });
    const { planId: id } = await first.ok('/v1/plans.createPlan', { name: 'free', remaining: 3 });
    await first.close();
    const again = await TestService.start({ folder, settings: { KEYSTILE_DEFAULT_PLAN: id } });
    await again.createKey({ externalId: 'acme' });
    const made = await again.ok('/v1/identities.getIdentity', { externalId: 'acme' });
    expect(made).toMatchObject({ planId: id, remaining: 3 });
    await again.close();
    rmSync(folder, { recursive: true });
  });
});
