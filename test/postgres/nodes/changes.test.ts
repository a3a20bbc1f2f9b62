import { afterAll, beforeAll, expect, test } from 'bun:test';

import { Setup } from '../../support/cluster/clusterSetup.ts';

let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start({ locations: ['eu', 'us'] });
}, 60_000);

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
}, 60_000);

const nodeOf = (i: number): number => i % 2;

test('100 parallel increments and 1,000 parallel verifications of one key through two nodes add up exactly', async () => {
  const { key, keyId } = await setup.createKey({ remaining: 500 });
  const increments = Array.from({ length: 100 }, (_, i) =>
    setup.ok(nodeOf(i), '/v1/keys.updateRemaining', { keyId, op: 'increment', value: 7 }),
  );
  const verifications = Array.from({ length: 1000 }, (_, i) => setup.ok(nodeOf(i), '/v1/keys.verifyKey', { key }));
  const verdicts = await Promise.all(verifications);
  await Promise.all(increments);
  const taken = verdicts.filter(({ valid }) => valid === true).length;
  expect(await setup.remaining(keyId)).toBe(500 + 100 * 7 - taken);
  expect(taken).toBeLessThanOrEqual(1000);
}, 60_000);

test('updates of different fields of one key at the same time, through two nodes, are all kept', async () => {
  const { keyId } = await setup.createKey({ remaining: 10 });
  const fields = [{ name: 'named' }, { meta: { a: 1 } }, { environment: 'test' }, { externalId: 'owner' }];
  await Promise.all(fields.map((field, i) => setup.ok(nodeOf(i), '/v1/keys.updateKey', { keyId, ...field })));
  expect(await setup.ok(0, '/v1/keys.getKey', { keyId })).toMatchObject({
    name: 'named',
    meta: { a: 1 },
    environment: 'test',
    ownerId: 'owner',
    remaining: 10,
  });
});

test('keys that two nodes create at the same time, in bulk and one by one, share the owner and the role that each names first', async () => {
  const { apiId } = await setup.ok(0, '/v1/apis.createApi', { name: 'together' });
  const fields = { externalId: 'named-by-both', roles: ['role-of-both'] };
  const inBulk = [0, 1].map((node) =>
    setup.ok(node, '/v1/keys.createKeys', { apiId, keys: Array.from({ length: 20 }, () => fields) }),
  );
  const oneByOne = Array.from({ length: 20 }, (_, i) =>
    setup.ok(nodeOf(i), '/v1/keys.createKey', { apiId, ...fields }),
  );
  const made = [...(await Promise.all(inBulk)).flatMap((answer) => answer['keys']), ...(await Promise.all(oneByOne))];
  const keys = made as { key: string }[];
  const verdicts = await Promise.all(keys.map(({ key }, i) => setup.ok(nodeOf(i), '/v1/keys.verifyKey', { key })));
  expect(new Set(verdicts.map(({ valid, ownerId, roles }) => JSON.stringify([valid, ownerId, roles])))).toEqual(
    new Set([JSON.stringify([true, 'named-by-both', ['role-of-both']])]),
  );
  expect(await setup.ok(1, '/v1/identities.getIdentity', { externalId: 'named-by-both' })).toMatchObject({ keys: 60 });
});

test('what one node changes of identities, roles, secrets and apis, the other one goes by within a second', async () => {
  const { apiId } = await setup.ok(0, '/v1/apis.createApi', { name: 'changing' });
  const { identityId } = await setup.ok(0, '/v1/identities.createIdentity', { externalId: 'shared', remaining: 100 });
  const roles = ['editor'];
  await setup.ok(0, '/v1/permissions.createRole', { name: 'editor' });
  const made = await setup.ok(0, '/v1/keys.createKey', { apiId, externalId: 'shared', roles });
  const verify = (fields: object = {}) => setup.ok(1, '/v1/keys.verifyKey', { key: made.key, ...fields });
  /** Asks until the answer is as it should be; the bound is the one that is promised. */
  const within = async (what: string, isThere: () => Promise<boolean>): Promise<void> => {
    const startedAtMs = performance.now();
    while (!(await isThere())) {
      if (performance.now() - startedAtMs > 1_000) throw new Error(`after a second not seen: ${what}`);
    }
  };
  expect(await verify()).toMatchObject({ valid: true, remaining: 99, roles: ['editor'], permissions: [] });

  await setup.ok(0, '/v1/identities.updateIdentity', { identityId, meta: { plan: 'new' }, remaining: 50 });
  // Something exact is spent of it: this is seen at once.
  expect(await verify()).toMatchObject({ remaining: 49, identity: { meta: { plan: 'new' } } });

  const permissions = [{ name: 'documents.read', create: true }];
  await setup.ok(0, '/v1/permissions.setRolePermissions', { name: 'editor', permissions });
  const query = { authorization: { permissions: 'documents.read' }, remaining: { cost: 0 } };
  await within('the permission of the role', async () => (await verify(query)).valid === true);

  const rotated = await setup.ok(0, '/v1/keys.rotateKey', { keyId: made.keyId, overlapMs: 0 });
  expect(await verify()).toMatchObject({ code: 'NOT_FOUND' });
  expect(await setup.ok(1, '/v1/keys.verifyKey', { key: rotated.key })).toMatchObject({ remaining: 48 });

  expect(await setup.ok(0, '/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 1 });
  expect(await setup.ok(1, '/v1/keys.verifyKey', { key: rotated.key })).toMatchObject({ code: 'NOT_FOUND' });
});
