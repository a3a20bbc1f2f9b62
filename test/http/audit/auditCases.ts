import { expect } from 'bun:test';

import type { AuditWorld, Body } from './auditSetup.ts';

/** One event; undefined: not there. */
export type Told = readonly [action: string, target: unknown, before: unknown, after: unknown];

/** A call, and from what it was answered what is told of it. */
export interface Prepared {
  readonly body: object;
  readonly expected: (answer: Body) => readonly Told[];
}

const any = (fields: object): unknown => expect.objectContaining(fields);
const someId: unknown = expect.any(String);

/** For every route that changes something a call of it. What it needs is made first. */
export const CASES: Readonly<Record<string, (world: AuditWorld) => Promise<Prepared>>> = {
  'apis.createApi': async () => ({
    body: { name: 'payments' },
    expected: ({ apiId }) => [['api.create', apiId, undefined, any({ name: 'payments' })]],
  }),
  'apis.updateApi': async (world) => {
    const apiId = await world.api();
    return {
      body: { apiId, name: 'renamed' },
      expected: () => [['api.update', apiId, { name: 'audited' }, { name: 'renamed' }]],
    };
  },
  'apis.deleteApi': async (world) => {
    const apiId = await world.api();
    return { body: { apiId }, expected: () => [['api.delete', apiId, any({ name: 'audited' }), undefined]] };
  },
  'apis.deleteKeys': async (world) => {
    const apiId = await world.api();
    const body = { apiId, permanent: true };
    return { body, expected: () => [['api.deleteKeys', apiId, undefined, { keys: 0, permanent: true }]] };
  },
  'keys.createKey': async (world) => {
    const [apiId, owner, role, permission] = [await world.api(), world.name('u'), world.name('r'), world.name('p')];
    return {
      body: { apiId, ownerId: owner, roles: [role], permissions: [permission], remaining: 5 },
      expected: ({ keyId }) => [
        ['identity.create', someId, undefined, { externalId: owner }],
        ['role.create', someId, undefined, { name: role }],
        ['permission.create', someId, undefined, { name: permission, slug: permission }],
        ['key.create', keyId, undefined, any({ apiId, enabled: true, ownerId: owner, remaining: 5 })],
      ],
    };
  },
  'keys.updateKey': async (world) => {
    const before = { name: 'before', meta: { plan: 'free' }, enabled: true };
    const after = { name: 'after', meta: { plan: 'pro' }, enabled: false };
    const keyId = await world.key(before);
    return { body: { keyId, ...after }, expected: () => [['key.update', keyId, before, after]] };
  },
  'keys.updateRemaining': async (world) => {
    const keyId = await world.key({ remaining: 5 });
    return {
      body: { keyId, op: 'decrement', value: 2 },
      expected: () => [['key.updateRemaining', keyId, { remaining: 5 }, { remaining: 3 }]],
    };
  },
  'keys.deleteKey': async (world) => {
    const keyId = await world.key();
    const body = { keyId, permanent: true };
    return { body, expected: () => [['key.delete', keyId, any({ name: 'before' }), { permanent: true }]] };
  },
  'keys.restoreKey': async (world) => {
    const keyId = await world.key();
    await world.ok('keys.deleteKey', { keyId });
    return { body: { keyId }, expected: () => [['key.restore', keyId, undefined, any({ name: 'before' })]] };
  },
  'keys.rotateKey': async (world) => {
    const keyId = await world.key({ prefix: 'demo' });
    const { start } = await world.ok('keys.getKey', { keyId });
    return {
      body: { keyId, overlapMs: 5000 },
      expected: ({ key }) => [
        ['key.rotate', keyId, { start }, { start: (key as string).slice(0, 9), overlapMs: 5000 }],
      ],
    };
  },
  'keys.addPermissions': (world) => accessCase(world, 'add', 'permissions'),
  'keys.setPermissions': (world) => accessCase(world, 'set', 'permissions'),
  'keys.removePermissions': (world) => accessCase(world, 'remove', 'permissions'),
  'keys.addRoles': (world) => accessCase(world, 'add', 'roles'),
  'keys.setRoles': (world) => accessCase(world, 'set', 'roles'),
  'keys.removeRoles': (world) => accessCase(world, 'remove', 'roles'),
  'permissions.createPermission': async (world) => {
    const name = world.name('p');
    return {
      body: { name },
      expected: ({ permissionId }) => [['permission.create', permissionId, undefined, { name, slug: name }]],
    };
  },
  'permissions.deletePermission': async (world) => {
    const name = world.name('p');
    const permissionId = await world.permission(name);
    return {
      body: { permissionId },
      expected: () => [['permission.delete', permissionId, { name, slug: name }, undefined]],
    };
  },
  'permissions.createRole': async (world) => {
    const name = world.name('r');
    return { body: { name }, expected: ({ roleId }) => [['role.create', roleId, undefined, { name }]] };
  },
  'permissions.deleteRole': async (world) => {
    const name = world.name('r');
    const roleId = await world.role(name);
    return { body: { roleId }, expected: () => [['role.delete', roleId, any({ name }), undefined]] };
  },
  'permissions.setRolePermissions': async (world) => {
    const [roleId, name] = [await world.role(world.name('r')), world.name('p')];
    const id = await world.permission(name);
    return {
      body: { roleId, permissions: [{ id }] },
      expected: () => [['role.setPermissions', roleId, { permissions: [] }, { permissions: [{ id, name }] }]],
    };
  },
  'identities.createIdentity': async (world) => {
    const externalId = world.name('user');
    return {
      body: { externalId, remaining: 4 },
      expected: ({ identityId }) => [['identity.create', identityId, undefined, any({ externalId, remaining: 4 })]],
    };
  },
  'identities.updateIdentity': async (world) => {
    const identityId = await world.identity(world.name('user'), { meta: { a: 1 } });
    return {
      body: { identityId, meta: { b: 2 } },
      expected: () => [['identity.update', identityId, { meta: { a: 1 } }, { meta: { b: 2 } }]],
    };
  },
  'identities.deleteIdentity': async (world) => {
    const externalId = world.name('user');
    const identityId = await world.identity(externalId);
    return {
      body: { identityId },
      expected: () => [['identity.delete', identityId, any({ externalId }), undefined]],
    };
  },
  'ratelimits.limit': async (world) => {
    const name = world.name('namespace');
    return {
      body: { namespace: name, identifier: 'a', limit: 5, duration: 1000 },
      expected: () => [['namespace.create', someId, undefined, { name }]],
    };
  },
  'ratelimits.multiLimit': async (world) => {
    const name = world.name('namespace');
    return {
      body: { limits: [{ namespace: name, identifier: 'a', limit: 5, duration: 1000 }] },
      expected: () => [['namespace.create', someId, undefined, { name }]],
    };
  },
  'ratelimits.setOverride': async (world) => {
    const override = { identifier: 'a', limit: 7, duration: 2000 };
    return {
      body: { namespaceName: await world.namespace(), ...override },
      expected: ({ overrideId }) => [['override.create', overrideId, undefined, any(override)]],
    };
  },
  'ratelimits.deleteOverride': async (world) => {
    const [namespaceName, override] = [await world.namespace(), { identifier: 'a', limit: 7, duration: 2000 }];
    const { overrideId } = await world.ok('ratelimits.setOverride', { namespaceName, ...override });
    return {
      body: { namespaceName, identifier: 'a' },
      expected: () => [['override.delete', overrideId, any(override), undefined]],
    };
  },
  'migrations.createKeys': async (world) => {
    const apiId = await world.api();
    return {
      body: [world.secret(), world.secret()].map((plaintext) => ({ apiId, plaintext })),
      expected: ({ keyIds }) =>
        (keyIds as string[]).map((keyId): Told => ['key.create', keyId, undefined, any({ apiId, start: 'secr' })]),
    };
  },
  'migrations.enqueueKeys': async (world) => {
    const [apiId, migrationId] = [await world.api(), world.name('migration')];
    return {
      body: { migrationId, apiId, keys: [{ plaintext: world.secret() }] },
      expected: () => [['migration.enqueue', migrationId, undefined, { apiId, keys: 1 }]],
    };
  },
  'rootKeys.createRootKey': async () => {
    const permissions = ['api.*.read_api'];
    return {
      body: { name: 'ci', permissions },
      expected: ({ rootKeyId, key }) => [
        ['rootKey.create', rootKeyId, undefined, { name: 'ci', start: (key as string).slice(0, 9), permissions }],
      ],
    };
  },
  'rootKeys.revokeRootKey': async (world) => {
    const rootKeyId = await world.rootKey();
    const before = any({ name: 'audited', permissions: ['api.*.read_api'] });
    return { body: { rootKeyId }, expected: () => [['rootKey.revoke', rootKeyId, before, undefined]] };
  },
  'rootKeys.rotateRootKey': async (world) => {
    const rootKeyId = await world.rootKey();
    const before = { start: expect.stringMatching(/^root_/) };
    return {
      body: { rootKeyId, overlapMs: 0 },
      expected: ({ key }) => [
        ['rootKey.rotate', rootKeyId, before, { start: (key as string).slice(0, 9), overlapMs: 0 }],
      ],
    };
  },
};

/** A key that holds the first of two, and is given or relieved of one. */
async function accessCase(
  world: AuditWorld,
  how: 'add' | 'set' | 'remove',
  kind: 'permissions' | 'roles',
): Promise<Prepared> {
  const make = async (name: string) => {
    return { id: kind === 'roles' ? await world.role(name) : await world.permission(name), name };
  };
  const [first, second] = [await make(world.name('n')), await make(world.name('n'))];
  const keyId = await world.key({ [kind]: [first.name] });
  const after = { add: [first, second], set: [second], remove: [] }[how];
  const action = `key.${how}${kind === 'roles' ? 'Roles' : 'Permissions'}`;
  return {
    body: { keyId, [kind]: [{ name: how === 'remove' ? first.name : second.name }] },
    expected: () => [[action, keyId, { [kind]: [first] }, { [kind]: after }]],
  };
}
