import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import type { SilentNode } from '../../support/silentNode.ts';
import { useSilentPair } from '../../support/silentPair.ts';

setDefaultTimeout(60_000);

const pair = useSilentPair();
let changing: SilentNode;
let silent: SilentNode;
let made = 0;

beforeAll(() => {
  ({ changing, silent } = pair());
});

/** A key with what it belongs to. It holds `write` directly and `read` through its role, and is asked for both. */
interface Holder {
  readonly apiId: string;
  readonly key: string;
  readonly keyId: string;
  readonly identityId: string;
  readonly externalId: string;
  readonly planId: string;
  readonly role: string;
  readonly read: string;
  readonly write: string;
}

interface SpendKind {
  readonly key?: object;
  /** Given: the key belongs to an identity. */
  readonly identity?: object;
  /** Given: the identity is on a plan, or the key itself if there is no identity. */
  readonly plan?: object;
  readonly request?: object;
  /** Asked for with keys.verifyKeys. */
  readonly isMany?: true;
}

const STRICT = { name: 'strict', limit: 100, duration: 3_600_000, async: false };
const AD_HOC = { ...STRICT, name: 'ad-hoc' };

/** Every kind of exact spend that a verification can make. */
const SPENDS: Readonly<Record<string, SpendKind>> = {
  'credits of the key': { key: { remaining: 100 } },
  'credits with a refill': { key: { remaining: 100, refill: { interval: 'daily', amount: 5 } } },
  'a strict limit of the key': { key: { ratelimits: [STRICT] } },
  'credits and a strict limit': { key: { remaining: 100, ratelimits: [STRICT] } },
  'credits and a local limit': { key: { remaining: 100, ratelimits: [{ ...STRICT, async: true }] } },
  'credits of a key with an identity': { key: { remaining: 100 }, identity: {} },
  'credits of the identity': { identity: { remaining: 100 } },
  'credits of both': { key: { remaining: 100 }, identity: { remaining: 100 } },
  'a strict limit of the identity': {
    identity: { ratelimits: [STRICT] },
    request: { ratelimits: [{ name: 'strict' }] },
  },
  'credits of an identity on a plan': {
    identity: {},
    plan: { remaining: 100, refill: { interval: 'daily', amount: 5 } },
  },
  'a strict limit of a plan': { identity: {}, plan: { ratelimits: [STRICT] } },
  'credits of a key on a plan': { plan: { remaining: 100, refill: { interval: 'daily', amount: 5 } } },
  'a strict limit of the plan of a key': { plan: { ratelimits: [STRICT] } },
  'credits of a key that its plan refills': {
    key: { remaining: 100 },
    plan: { remaining: 5, refill: { interval: 'daily', amount: 5 }, ratelimits: [{ ...STRICT, async: true }] },
  },
  'an ad-hoc strict limit': { request: { ratelimits: [AD_HOC] } },
  'an ad-hoc strict limit of a key with an identity': { identity: {}, request: { ratelimits: [AD_HOC] } },
  'credits under an idempotency key': { key: { remaining: 100 }, request: {} },
  'credits in a call for many keys': { key: { remaining: 100 }, isMany: true },
  'an ad-hoc strict limit in a call for many keys': { request: { ratelimits: [AD_HOC] }, isMany: true },
  'no credit, of those it has': { key: { remaining: 100 }, request: { remaining: { cost: 0 } } },
};
const COST_NOTHING = SPENDS['no credit, of those it has'];

type Change = (holder: Holder) => Promise<unknown>;

/** Whether a change concerns this kind of spend. */
type Concerns = (kind: SpendKind) => boolean;
const hasIdentity: Concerns = ({ identity }) => identity !== undefined;
const costsCredits: Concerns = (kind) => kind !== COST_NOTHING;
const isOnPlan: Concerns = ({ plan }) => plan !== undefined;
const mayJoinIdentity: Concerns = (kind) => costsCredits(kind) && (hasIdentity(kind) || !isOnPlan(kind));
const has = (owner: 'key' | 'identity' | 'plan', limit: object): Concerns => {
  return (kind) => JSON.stringify(kind[owner] ?? {}).includes(JSON.stringify(limit));
};

/** Every kind of change after which the key may not pass, with the code that it gets. */
const CHANGES: Readonly<Record<string, readonly [code: string, change: Change, concerns?: Concerns]>> = {
  'the key is deleted': ['NOT_FOUND', ({ keyId }) => changing.ok('keys.deleteKey', { keyId })],
  'the key is removed': ['NOT_FOUND', ({ keyId }) => changing.ok('keys.deleteKey', { keyId, permanent: true })],
  'the key gets another secret': ['NOT_FOUND', ({ keyId }) => changing.ok('keys.rotateKey', { keyId, overlapMs: 0 })],
  'all keys of the api are deleted': ['NOT_FOUND', ({ apiId }) => deleteKeys({ apiId })],
  'all keys of the api are removed': ['NOT_FOUND', ({ apiId }) => deleteKeys({ apiId, permanent: true })],
  'the api is deleted': ['NOT_FOUND', ({ apiId }) => changing.ok('apis.deleteApi', { apiId })],
  'the key is disabled': ['DISABLED', changesKey({ enabled: false })],
  'the key expires': ['EXPIRED', changesKey({ expires: 1 })],
  'the key is tied to an address': ['FORBIDDEN', changesKey({ ipAllowlist: ['198.51.100.1'] })],
  'the key loses its role': [
    'INSUFFICIENT_PERMISSIONS',
    ({ keyId, role }) => changing.ok('keys.removeRoles', { keyId, roles: [{ name: role }] }),
  ],
  'the key loses a permission': [
    'INSUFFICIENT_PERMISSIONS',
    ({ keyId, write }) => changing.ok('keys.removePermissions', { keyId, permissions: [{ name: write }] }),
  ],
  'the role loses a permission': [
    'INSUFFICIENT_PERMISSIONS',
    ({ role }) => changing.ok('permissions.setRolePermissions', { name: role, permissions: [] }),
  ],
  'the role is deleted': [
    'INSUFFICIENT_PERMISSIONS',
    async ({ role }) => {
      const roles = (await changing.ok('permissions.listRoles', {})) as { id: string; name: string }[];
      await changing.ok('permissions.deleteRole', { roleId: roles.find(({ name }) => name === role)?.id });
    },
  ],
  'a permission of the role is deleted': ['INSUFFICIENT_PERMISSIONS', ({ read }) => deletePermission(read)],
  'a permission of the key is deleted': ['INSUFFICIENT_PERMISSIONS', ({ write }) => deletePermission(write)],
  'the key has no credits any more': ['USAGE_EXCEEDED', changesKey({ remaining: 0 }), costsCredits],
  'the identity has no credits any more': ['USAGE_EXCEEDED', changesIdentity({ remaining: 0 }), hasIdentity],
  'the identity is disabled': ['DISABLED', changesIdentity({ enabled: false }), hasIdentity],
  'the identity is deleted, and its keys with it': [
    'NOT_FOUND',
    ({ identityId }) => changing.ok('identities.deleteIdentity', { identityId, keys: 'delete' }),
    hasIdentity,
  ],
  'the strict limit of the key is lowered to what is used': [
    'RATE_LIMITED',
    changesKey({ ratelimits: [{ ...STRICT, limit: 1 }] }),
    has('key', STRICT),
  ],
  'the strict limit of the identity is lowered to what is used': [
    'RATE_LIMITED',
    changesIdentity({ ratelimits: [{ ...STRICT, limit: 1 }] }),
    has('identity', STRICT),
  ],
  'the strict limit of the plan is lowered to what is used': [
    'RATE_LIMITED',
    ({ planId }) => changing.ok('plans.updatePlan', { planId, ratelimits: [{ ...STRICT, limit: 1 }] }),
    has('plan', STRICT),
  ],
  'the holder moves to a plan without anything left': [
    'USAGE_EXCEEDED',
    async ({ identityId, keyId }) => {
      const { planId } = await changing.ok('plans.createPlan', { name: `empty ${made++}`, remaining: 0 });
      await changing.ok('plans.assign', { ...holderOf({ identityId, keyId }), planId, balance: 'reset' });
    },
    isOnPlan,
  ],
  'the key joins an identity without credits': [
    'USAGE_EXCEEDED',
    async ({ keyId }) => {
      const externalId = `empty_${made++}`;
      await changing.ok('identities.createIdentity', { externalId, remaining: 0, ratelimits: [STRICT] });
      await changing.ok('keys.updateKey', { keyId, externalId });
    },
    mayJoinIdentity,
  ],
};

function holderOf({ identityId, keyId }: Pick<Holder, 'identityId' | 'keyId'>): object {
  return identityId === '' ? { keyId } : { identityId };
}

const deleteKeys = (body: object) => changing.ok('apis.deleteKeys', body);

function changesKey(fields: object) {
  return ({ keyId }: Holder) => changing.ok('keys.updateKey', { keyId, ...fields });
}

function changesIdentity(fields: object) {
  return ({ identityId }: Holder) => changing.ok('identities.updateIdentity', { identityId, ...fields });
}

async function deletePermission(slug: string): Promise<void> {
  const all = (await changing.ok('permissions.listPermissions', {})) as { id: string; name: string }[];
  await changing.ok('permissions.deletePermission', { permissionId: all.find(({ name }) => name === slug)?.id });
}

async function make({ key: fields, identity, plan }: SpendKind): Promise<Holder> {
  const number = made++;
  const [externalId, role, read, write] = [`user_${number}`, `role_${number}`, `read_${number}`, `write_${number}`];
  const { apiId } = await changing.ok('apis.createApi', { name: `api ${number}` });
  await changing.ok('permissions.createRole', { name: role });
  await changing.ok('permissions.setRolePermissions', { name: role, permissions: [{ name: read, create: true }] });
  const owner = identity && (await changing.ok('identities.createIdentity', { externalId, ...identity }));
  const planned = plan && (await changing.ok('plans.createPlan', { name: `plan ${number}`, ...plan }));
  const planId = planned?.planId ?? '';
  const created = await changing.ok('keys.createKey', {
    apiId,
    roles: [role],
    permissions: [write],
    ...(identity && { externalId }),
    ...fields,
  });
  const identityId = owner?.identityId ?? '';
  if (plan) await changing.ok('plans.assign', { ...holderOf({ identityId, ...created }), planId });
  return { apiId, externalId, role, read, write, identityId, planId, ...created };
}

async function verify(node: SilentNode, kind: SpendKind, holder: Holder): Promise<{ valid: boolean; code: string }> {
  const { key, read, write } = holder;
  const authorization = { permissions: { and: [read, { or: ['never', write] }] } };
  // Another one with every call: a replay spends nothing.
  const idempotencyKey = kind === SPENDS['credits under an idempotency key'] && { idempotencyKey: `id_${made++}_same` };
  const request = { key, authorization, ...kind.request, ...idempotencyKey };
  if (!kind.isMany) return node.ok('keys.verifyKey', request);
  return (await node.ok('keys.verifyKeys', { keys: [request] })).results[0];
}

describe.each(Object.entries(SPENDS))('a node that hears nothing and spends %s', (_spend, kind) => {
  const fitting = Object.entries(CHANGES).filter(([, [, , concerns]]) => concerns?.(kind) !== false);

  test.concurrent.each(fitting)('sees at once that %s', async (_change, [code, change]) => {
    const holder = await make(kind);
    expect(await verify(silent, kind, holder)).toMatchObject({ valid: true });
    await change(holder);
    expect(await verify(silent, kind, holder)).toMatchObject({ valid: false, code });
  });

  test.concurrent('sees at once that the overlap of its former secret is ended', async () => {
    const holder = await make(kind);
    const { keyId } = holder;
    await changing.ok('keys.rotateKey', { keyId, overlapMs: 3_600_000 });
    expect(await verify(silent, kind, holder)).toMatchObject({ valid: true });
    await changing.ok('keys.rotateKey', { keyId, overlapMs: 0 });
    expect(await verify(silent, kind, holder)).toMatchObject({ valid: false, code: 'NOT_FOUND' });
  });
});

describe('a node that hears nothing and repeats an answer under its idempotency key', () => {
  const KIND: SpendKind = { key: { remaining: 100, ratelimits: [{ ...STRICT, limit: 1, async: true }] } };

  test.concurrent.each(Object.entries(CHANGES).filter(([, [, , concerns]]) => concerns?.(KIND) !== false))(
    'sees at once that %s, although its local limit is used up',
    async (_change, [code, change]) => {
      const holder = await make(KIND);
      const request = { key: holder.key, authorization: { permissions: { and: [holder.read, holder.write] } } };
      const again = () => silent.ok('keys.verifyKey', { ...request, idempotencyKey: `repeated_${holder.keyId}` });
      expect([(await again()).valid, (await again()).valid]).toEqual([true, true]);
      expect(await silent.ok('keys.verifyKey', request)).toMatchObject({ code: 'RATE_LIMITED' });
      await change(holder);
      // A change of the counter alone leaves the key as allowed as it was: what was answered is answered again.
      const isCounter = code === 'USAGE_EXCEEDED';
      expect(await again()).toMatchObject(isCounter ? { valid: true } : { valid: false, code });
    },
  );
});

test.concurrent.each([
  ['an identity', { identity: {} }],
  ['a key', {}],
])('a node that hears nothing sees at once that a plan of %s takes a permission back', async (_holder, kind) => {
  const given = `given_${made++}`;
  const permissions = [{ name: given, create: true }];
  const { key, planId } = await make({ ...kind, plan: { remaining: 100, permissions } });
  const ask = () => silent.ok('keys.verifyKey', { key, authorization: { permissions: given } });
  expect(await ask()).toMatchObject({ valid: true, remaining: 99 });
  await changing.ok('plans.updatePlan', { planId, permissions: [] });
  expect(await ask()).toMatchObject({ valid: false, code: 'INSUFFICIENT_PERMISSIONS' });
});
