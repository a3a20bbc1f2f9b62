import { expect } from 'bun:test';

import type { AuditSetup, Body } from './auditSetup.ts';

/** One entry; undefined: not there. */
export type Told = readonly [action: string, target: unknown, before: unknown, after: unknown];

/** A call, and from what it was answered what is told of it. */
export interface Prepared {
  readonly body: object;
  readonly expected: (answer: Body) => readonly Told[];
}

type Cases = Readonly<Record<string, (setup: AuditSetup) => Promise<Prepared>>>;

/** Calls about browsers: those of the dashboard, and those of customers. */
const SESSION_CASES: Cases = {
  'portal.createSession': async (setup) => {
    const body = { externalId: setup.name('customer'), apiId: await setup.api(), allow: ['create'] };
    await setup.identity(body.externalId);
    return { body, expected: ({ sessionId }) => [['portal.createSession', sessionId as string, undefined, body]] };
  },
  'portal.endSessions': async (setup) => {
    const body = { externalId: setup.name('customer') };
    const identityId = await setup.identity(body.externalId);
    await setup.ok('portal.createSession', { ...body, apiId: await setup.api() });
    return { body, expected: () => [['portal.endSessions', identityId, { sessions: 1 }, undefined]] };
  },
  'sessions.endSession': async (setup) => {
    const { sessionId, rootKeyId } = await setup.session();
    const before = { rootKeyId, browser: 'a browser' };
    return { body: { sessionId }, expected: () => [['session.end', sessionId, before, undefined]] };
  },
};

const URL_WITH_TOKEN = 'https://example.com/hook?token=1';
const SHOWN = { url: 'https://example.com/hook', enabled: true, paused: false };

/** The query of a URL may hold a token of the target: the log leaves it out. */
const WEBHOOK_CASES: Cases = {
  'webhooks.createWebhook': async () => ({
    body: { url: URL_WITH_TOKEN, events: ['key.created'] },
    expected: ({ webhookId }) => [['webhook.create', webhookId, undefined, { ...SHOWN, events: ['key.created'] }]],
  }),
  'webhooks.updateWebhook': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId, enabled: false },
      expected: () => [['webhook.update', webhookId, { enabled: true }, { enabled: false }]],
    };
  },
  'webhooks.deleteWebhook': async (setup) => {
    const webhookId = await webhook(setup);
    return { body: { webhookId }, expected: () => [['webhook.delete', webhookId, SHOWN, undefined]] };
  },
  'webhooks.rotateSecret': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId, overlapMs: 5 },
      expected: () => [['webhook.rotateSecret', webhookId, {}, { overlapMs: 5 }]],
    };
  },
  'webhooks.sendTest': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId },
      expected: ({ eventId }) => [['webhook.sendTest', webhookId, undefined, { eventId }]],
    };
  },
  'webhooks.redeliver': async (setup) => {
    const webhookId = await webhook(setup);
    const { eventId } = await setup.ok('webhooks.sendTest', { webhookId });
    expect(eventId).toStartWith('evt_');
    return {
      body: { webhookId, eventId },
      expected: () => [['webhook.redeliver', webhookId, undefined, { eventId }]],
    };
  },
};

async function webhook(setup: AuditSetup): Promise<string> {
  return (await setup.ok('webhooks.createWebhook', { url: URL_WITH_TOKEN })).webhookId as string;
}

const any = (fields: object): unknown => expect.objectContaining(fields);
const someId: unknown = expect.any(String);

/** For every route that changes something a call of it. What it needs is made first. */
export const CASES: Cases = {
  'apis.createApi': async () => ({
    body: { name: 'payments' },
    expected: ({ apiId }) => [['api.create', apiId, undefined, any({ name: 'payments' })]],
  }),
  'apis.updateApi': async (setup) => {
    const apiId = await setup.api();
    return {
      body: { apiId, name: 'renamed' },
      expected: () => [['api.update', apiId, { name: 'audited' }, { name: 'renamed' }]],
    };
  },
  'apis.deleteApi': async (setup) => {
    const apiId = await setup.api();
    return { body: { apiId }, expected: () => [['api.delete', apiId, any({ name: 'audited' }), undefined]] };
  },
  'apis.deleteKeys': async (setup) => {
    const apiId = await setup.api();
    const body = { apiId, permanent: true };
    return { body, expected: () => [['api.deleteKeys', apiId, undefined, { keys: 0, permanent: true }]] };
  },
  'keys.createKey': async (setup) => {
    const [apiId, owner, role, permission] = [await setup.api(), setup.name('u'), setup.name('r'), setup.name('p')];
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
  'keys.createKeys': async (setup) => {
    const [apiId, owner, role] = [await setup.api(), setup.name('u'), setup.name('r')];
    const key = { ownerId: owner, roles: [role], remaining: 5 };
    return {
      body: { apiId, keys: [key, key] },
      expected: ({ keys }) => {
        const [first, second] = (keys as { keyId: string }[]).map(({ keyId }): Told => {
          return ['key.create', keyId, undefined, any({ apiId, ownerId: owner, remaining: 5 })];
        }) as [Told, Told];
        const made: Told[] = [
          ['identity.create', someId, undefined, { externalId: owner }],
          ['role.create', someId, undefined, { name: role }],
        ];
        return [...made, first, second];
      },
    };
  },
  'keys.updateKey': async (setup) => {
    const before = { name: 'before', meta: { plan: 'free' }, enabled: true };
    const after = { name: 'after', meta: { plan: 'pro' }, enabled: false };
    const keyId = await setup.key(before);
    return { body: { keyId, ...after }, expected: () => [['key.update', keyId, before, after]] };
  },
  'keys.updateRemaining': async (setup) => {
    const keyId = await setup.key({ remaining: 5 });
    return {
      body: { keyId, op: 'decrement', value: 2 },
      expected: () => [['key.updateRemaining', keyId, { remaining: 5 }, { remaining: 3 }]],
    };
  },
  'keys.deleteKey': async (setup) => {
    const keyId = await setup.key();
    const body = { keyId, permanent: true };
    return { body, expected: () => [['key.delete', keyId, any({ name: 'before' }), { permanent: true }]] };
  },
  'keys.restoreKey': async (setup) => {
    const keyId = await setup.key();
    await setup.ok('keys.deleteKey', { keyId });
    return { body: { keyId }, expected: () => [['key.restore', keyId, undefined, any({ name: 'before' })]] };
  },
  'keys.rotateKey': async (setup) => {
    const keyId = await setup.key({ prefix: 'demo' });
    const { start } = await setup.ok('keys.getKey', { keyId });
    return {
      body: { keyId, overlapMs: 5000 },
      expected: ({ key }) => [
        ['key.rotate', keyId, { start }, { start: (key as string).slice(0, 9), overlapMs: 5000 }],
      ],
    };
  },
  'keys.addPermissions': (setup) => accessCase(setup, 'add', 'permissions'),
  'keys.setPermissions': (setup) => accessCase(setup, 'set', 'permissions'),
  'keys.removePermissions': (setup) => accessCase(setup, 'remove', 'permissions'),
  'keys.addRoles': (setup) => accessCase(setup, 'add', 'roles'),
  'keys.setRoles': (setup) => accessCase(setup, 'set', 'roles'),
  'keys.removeRoles': (setup) => accessCase(setup, 'remove', 'roles'),
  'permissions.createPermission': async (setup) => {
    const name = setup.name('p');
    const facts = { name, slug: `${name}.slug`, description: 'All' };
    return {
      body: facts,
      expected: ({ permissionId }) => [['permission.create', permissionId, undefined, facts]],
    };
  },
  'permissions.deletePermission': async (setup) => {
    const name = setup.name('p');
    const permissionId = await setup.permission(name);
    return {
      body: { permissionId },
      expected: () => [['permission.delete', permissionId, { name, slug: name }, undefined]],
    };
  },
  'permissions.createRole': async (setup) => {
    const facts = { name: setup.name('r'), description: 'All' };
    return { body: facts, expected: ({ roleId }) => [['role.create', roleId, undefined, facts]] };
  },
  'permissions.deleteRole': async (setup) => {
    const name = setup.name('r');
    const [roleId, id] = [await setup.role(name), await setup.permission(setup.name('p'))];
    await setup.ok('permissions.setRolePermissions', { roleId, permissions: [{ id }] });
    return { body: { roleId }, expected: () => [['role.delete', roleId, { name, permissionIds: [id] }, undefined]] };
  },
  'permissions.setRolePermissions': async (setup) => {
    const [roleId, name] = [await setup.role(setup.name('r')), setup.name('p')];
    const id = await setup.permission(name);
    const made = `${name}.made`;
    return {
      body: { roleId, permissions: [{ id }, { name: made, create: true }] },
      expected: (answer) => {
        const both = [
          { id, name },
          { id: (answer as unknown as { id: string }[])[1]?.id, name: made },
        ];
        return [
          ['permission.create', both[1]?.id, undefined, { name: made, slug: made }],
          ['role.setPermissions', roleId, { permissions: [] }, { permissions: both }],
        ];
      },
    };
  },
  'identities.createIdentity': async (setup) => {
    const externalId = setup.name('user');
    return {
      body: { externalId, remaining: 4 },
      expected: ({ identityId }) => [['identity.create', identityId, undefined, any({ externalId, remaining: 4 })]],
    };
  },
  'identities.updateIdentity': async (setup) => {
    const identityId = await setup.identity(setup.name('user'), { meta: { a: 1 } });
    return {
      body: { identityId, meta: { b: 2 } },
      expected: () => [['identity.update', identityId, { meta: { a: 1 } }, { meta: { b: 2 } }]],
    };
  },
  'plans.createPlan': async (setup) => {
    const name = setup.name('plan');
    return {
      body: { name, remaining: 5 },
      expected: ({ planId }) => [['plan.create', planId, undefined, any({ name, remaining: 5 })]],
    };
  },
  'plans.updatePlan': async (setup) => {
    const planId = await setup.plan();
    return {
      body: { planId, maxKeys: 5 },
      expected: () => [['plan.update', planId, { maxKeys: null }, { maxKeys: 5 }]],
    };
  },
  'plans.deletePlan': async (setup) => {
    const planId = await setup.plan();
    return { body: { planId }, expected: () => [['plan.delete', planId, any({}), undefined]] };
  },
  'plans.assign': async (setup) => {
    const [identityId, planId] = [await setup.identity(setup.name('user')), await setup.plan()];
    return {
      body: { identityId, planId },
      expected: () => [['identity.assignPlan', identityId, { planId: null }, { planId }]],
    };
  },
  'credits.grant': async (setup) => {
    const keyId = await setup.key({ remaining: 5 });
    const call = { amount: 7, reason: 'payment 1' };
    return {
      body: { keyId, ...call, idempotencyKey: setup.name('payment') },
      expected: () => [['key.grantCredits', keyId, { remaining: 5 }, any({ ...call, remaining: 12 })]],
    };
  },
  'credits.adjust': async (setup) => {
    const identityId = await setup.identity(setup.name('user'), { remaining: 5 });
    return {
      body: { identityId, by: -2, reason: 'a mistake' },
      expected: () => [
        ['identity.adjustCredits', identityId, { remaining: 5 }, { by: -2, reason: 'a mistake', remaining: 3 }],
      ],
    };
  },
  'identities.deleteIdentity': async (setup) => {
    const externalId = setup.name('user');
    const identityId = await setup.identity(externalId);
    return {
      body: { identityId },
      expected: () => [['identity.delete', identityId, any({ externalId }), undefined]],
    };
  },
  'ratelimits.limit': async (setup) => {
    const name = setup.name('namespace');
    return {
      body: { namespace: name, identifier: 'a', limit: 5, duration: 1000 },
      expected: () => [['namespace.create', someId, undefined, { name }]],
    };
  },
  'ratelimits.multiLimit': async (setup) => {
    const name = setup.name('namespace');
    return {
      body: { limits: [{ namespace: name, identifier: 'a', limit: 5, duration: 1000 }] },
      expected: () => [['namespace.create', someId, undefined, { name }]],
    };
  },
  'ratelimits.setOverride': async (setup) => {
    const override = { identifier: 'a', limit: 7, duration: 2000 };
    return {
      body: { namespaceName: await setup.namespace(), ...override },
      expected: ({ overrideId }) => [['override.create', overrideId, undefined, any(override)]],
    };
  },
  'ratelimits.deleteOverride': async (setup) => {
    const [namespaceName, override] = [await setup.namespace(), { identifier: 'a', limit: 7, duration: 2000 }];
    const { overrideId } = await setup.ok('ratelimits.setOverride', { namespaceName, ...override });
    return {
      body: { namespaceName, identifier: 'a' },
      expected: () => [['override.delete', overrideId, any(override), undefined]],
    };
  },
  'migrations.createKeys': async (setup) => {
    const apiId = await setup.api();
    return {
      body: [setup.secret(), setup.secret()].map((plaintext) => ({ apiId, plaintext })),
      expected: ({ keyIds }) =>
        (keyIds as string[]).map((keyId): Told => ['key.create', keyId, undefined, any({ apiId, start: 'secr' })]),
    };
  },
  'migrations.enqueueKeys': async (setup) => {
    const [apiId, migrationId] = [await setup.api(), setup.name('migration')];
    return {
      body: { migrationId, apiId, keys: [{ plaintext: setup.secret() }] },
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
  'rootKeys.revokeRootKey': async (setup) => {
    const rootKeyId = await setup.rootKey();
    const before = any({ name: 'audited', permissions: ['api.*.read_api'] });
    return { body: { rootKeyId }, expected: () => [['rootKey.revoke', rootKeyId, before, undefined]] };
  },
  'rootKeys.rotateRootKey': async (setup) => {
    const rootKeyId = await setup.rootKey();
    const before = { start: expect.stringMatching(/^root_/) };
    return {
      body: { rootKeyId, overlapMs: 0 },
      expected: ({ key }) => [
        ['rootKey.rotate', rootKeyId, before, { start: (key as string).slice(0, 9), overlapMs: 0 }],
      ],
    };
  },
  ...SESSION_CASES,
  ...WEBHOOK_CASES,
};

/** A key that holds the first of two, and is given or relieved of one. */
async function accessCase(
  setup: AuditSetup,
  how: 'add' | 'set' | 'remove',
  kind: 'permissions' | 'roles',
): Promise<Prepared> {
  const make = async (name: string) => {
    return { id: kind === 'roles' ? await setup.role(name) : await setup.permission(name), name };
  };
  const [first, second] = [await make(setup.name('n')), await make(setup.name('n'))];
  const keyId = await setup.key({ [kind]: [first.name] });
  const after = { add: [first, second], set: [second], remove: [] }[how];
  const action = `key.${how}${kind === 'roles' ? 'Roles' : 'Permissions'}`;
  return {
    body: { keyId, [kind]: [{ name: how === 'remove' ? first.name : second.name }] },
    expected: () => [[action, keyId, { [kind]: [first] }, { [kind]: after }]],
  };
}
