import { MAX_PERMISSIONS, MAX_ROLES, MAX_WEBHOOKS } from '../../../../src/core/bounds.ts';
import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import { permission, role } from '../../../postgres/conformance/samples.ts';
import { rootKeyWith } from '../refusal.ts';
import { type Case, post } from './case.ts';

const BLANKS = ['   ', '\t\n\u00a0\u2003\u3000'];

export const APIS: readonly Case[] = [
  ['getApi of an unknown api', () => post('apis.getApi', { apiId: 'api_unknown' })],
  ['listKeys with decrypt', ({ apiId }) => post('apis.listKeys', { apiId, decrypt: true })],
  [
    'deleteApi of an api that is protected',
    async ({ service }) => {
      const apiId = await service.createApi();
      await service.ok('/v1/apis.updateApi', { apiId, deleteProtection: true });
      return post('apis.deleteApi', { apiId });
    },
  ],
  [
    'updateApi with a default limit without numbers',
    ({ apiId }) => post('apis.updateApi', { apiId, defaultRatelimit: {} }),
  ],
  ...BLANKS.flatMap((name): Case[] => [
    [`createApi with the name ${JSON.stringify(name)}`, () => post('apis.createApi', { name })],
    [`updateApi with the name ${JSON.stringify(name)}`, ({ apiId }) => post('apis.updateApi', { apiId, name })],
  ]),
  ...['abca\0b', 'abc\ud800', 'abca\udc00', '🔑🔑'].map((name): Case => [
    `createApi with the name ${JSON.stringify(name)}`,
    () => post('apis.createApi', { name }),
  ]),
];

const farAway = { interval: 'daily', amount: 1, timezone: 'Mars/Olympus' };

export const IDENTITIES: readonly Case[] = [
  ['an external id that is there', ({ externalId }) => post('identities.createIdentity', { externalId })],
  ['no identity named', () => post('identities.getIdentity', {})],
  ['an unknown external id', () => post('identities.getIdentity', { externalId: 'nobody' })],
  ['an unknown external id to update', () => post('identities.updateIdentity', { externalId: 'nobody' })],
  [
    'both ids of an identity',
    ({ identityId, externalId }) => post('identities.updateIdentity', { identityId, externalId }),
  ],
  [
    'a wrong time zone with a problem of the schema',
    () => post('identities.createIdentity', { externalId: 'user-9', refill: { ...farAway, amount: 0 } }),
  ],
  [
    'a wrong time zone with problems between fields',
    () => post('identities.createIdentity', { externalId: 'user-9', refill: { ...farAway, refillDay: 1 } }),
  ],
];

export const RBAC: readonly Case[] = [
  ['a permission that is there', (setup) => post('permissions.createPermission', { name: setup.permission })],
  ['a role that is there', (setup) => post('permissions.createRole', { name: setup.role })],
  ['a role by no name', () => post('permissions.setRolePermissions', { permissions: [] })],
  ['a role by two names', () => post('permissions.setRolePermissions', { roleId: 'a', name: 'b', permissions: [] })],
  [
    'more permissions than there can be',
    async ({ service }) => {
      const many = Array.from({ length: MAX_PERMISSIONS }, (_, i) => permission(`perm_${i}`, `many-${i}`));
      const writes = many.map((each) => ({ kind: 'insertPermission', permission: each }) as const);
      await service.storage.ledger.apply({ writes, accounts: [] });
      return post('permissions.createPermission', { name: 'one too many' });
    },
  ],
  [
    'more roles than there can be',
    async ({ service }) => {
      const many = Array.from({ length: MAX_ROLES }, (_, i) => role(`role_${i}`, `many-${i}`));
      const writes = many.map((each) => ({ kind: 'insertRole', role: each }) as const);
      await service.storage.ledger.apply({ writes, accounts: [] });
      return post('permissions.createRole', { name: 'one too many' });
    },
  ],
];

export const RATELIMITS: readonly Case[] = [
  ['no namespace named', () => post('ratelimits.listOverrides', {})],
  ['an unknown namespace', () => post('ratelimits.listOverrides', { namespaceName: 'nowhere' })],
  [
    'an unknown override',
    ({ namespaceName }) => post('ratelimits.getOverride', { namespaceName, identifier: 'nobody' }),
  ],
];

const DIGEST = 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=';

const importing = (fields: object): Case[1] => {
  return ({ apiId }) => post('migrations.createKeys', [{ apiId, ...fields }]);
};

export const IMPORTS: readonly Case[] = [
  ['neither a key nor its digest', importing({})],
  ['a digest that is none', importing({ hash: { value: 'x', variant: 'sha256_base64' } })],
  [
    'a digest that is no base64 of 32 bytes',
    importing({ hash: { value: `${DIGEST.slice(0, -2)}5=`, variant: 'sha256_base64' } }),
  ],
  ['a key that is there', ({ apiId, key }) => post('migrations.createKeys', [{ apiId, plaintext: key }])],
  ['a role that is not there', importing({ plaintext: 'imported-key-of-nobody', roles: ['nobody'] })],
  [
    'a wrong time zone with a problem of the schema',
    importing({ plaintext: 'x'.repeat(16), refill: { ...farAway, amount: 0 } }),
  ],
  [
    'a migrationId that is in use',
    async ({ service, migrationId }) => {
      const keys = [{ plaintext: 'a-key-made-elsewhere-1' }];
      return post('migrations.enqueueKeys', { migrationId, apiId: await service.createApi(), keys });
    },
  ],
  ['an unknown migration', () => post('migrations.getProgress', { migrationId: 'none' })],
];

const rootKeyOf = (fields: object) => post('rootKeys.createRootKey', { name: 'n', ...fields });

export const ROOT_KEYS: readonly Case[] = [
  ['no right', () => rootKeyOf({ permissions: ['api.*.create_keys', '**'] })],
  ['a root key that would be over', () => rootKeyOf({ permissions: ['*'], expires: 1 })],
  [
    'a right that the caller does not have',
    async ({ service }) => {
      const rootKey = await rootKeyWith(service, 'root.*.create_root_key');
      return { ...rootKeyOf({ permissions: ['api.*.read_key'] }), options: { rootKey } };
    },
  ],
  ['an unknown root key', () => post('rootKeys.revokeRootKey', { rootKeyId: 'rk_unknown' })],
  [
    'a root key to rotate that was revoked',
    async ({ service }) => {
      const { rootKeyId } = await service.ok('/v1/rootKeys.createRootKey', { name: 'n', permissions: ['*'] });
      await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId });
      return post('rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 });
    },
  ],
];

const counted = (fields: object): Case[1] => {
  return ({ apiId }) => post('analytics.getVerifications', { apiId, ...fields });
};

export const ANALYTICS: readonly Case[] = [
  ['an end before its start', counted({ start: 2, end: 1 })],
  ['two spans of time', counted({ groupBy: ['hour', 'day'] })],
  ['an order by a time that is not told', counted({ groupBy: 'key', orderBy: 'time' })],
  ['more hours than are told at once', counted({ start: 4e12, end: 5e12, groupBy: 'hour' })],
  [
    'more rows than are told at once',
    async ({ service, apiId }) => {
      const minuteMs = Date.parse('2026-03-15T12:00:00Z');
      const counts = [1, 0, 0, 0, 0, 0, 0, 0];
      const blank = { minuteMs, apiId, identityId: '', tags: '', counts, credits: 0, lastAtMs: minuteMs };
      const keys = Array.from({ length: 10_001 }, (_, i) => ({ ...blank, keyId: `key_${i}` }));
      await service.storage.analytics.add(CountColumns.of(keys), 1);
      return post('analytics.getVerifications', { apiId, groupBy: 'key' });
    },
  ],
];

/** The service sends to public addresses alone. */
const PRIVATE_TARGETS = [
  'http://example.com/hook',
  'ftp://example.com/hook',
  'example.com/hook',
  'https://ann:secret@example.com/hook',
  'https://localhost/hook',
  'https://127.0.0.1/hook',
  'https://0x7f.1:8443/hook',
  'https://2130706433/hook',
  'https://10.1.2.3/hook',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/hook',
  'https://[::ffff:10.0.0.1]/hook',
  'https://[fd00:ec2::254]/hook',
  'https://[fe80::1]/hook',
  'https://[64:ff9b::a00:1]/hook',
  'https://239.1.2.3/hook',
];

export const WEBHOOKS: readonly Case[] = [
  ...PRIVATE_TARGETS.map((url): Case => [`createWebhook to ${url}`, () => post('webhooks.createWebhook', { url })]),
  [
    'updateWebhook to https://192.168.0.1/hook',
    ({ webhookId }) => post('webhooks.updateWebhook', { webhookId, url: 'https://192.168.0.1/hook' }),
  ],
  [
    'createWebhook with an unknown event',
    () => post('webhooks.createWebhook', { url: 'https://example.com', events: ['key.made'] }),
  ],
  ['listDeliveries after "x"', ({ webhookId }) => post('webhooks.listDeliveries', { webhookId, cursor: 'x' })],
  [
    'rotateSecret with an overlap of 31 days',
    ({ webhookId }) => post('webhooks.rotateSecret', { webhookId, overlapMs: 2_678_400_000 }),
  ],
  [
    'createWebhook when there are 100',
    async ({ service }) => {
      const { webhooks } = (await service.ok('/v1/webhooks.listWebhooks', {})) as { webhooks: unknown[] };
      const url = 'https://example.com/many';
      for (let i = webhooks.length; i < MAX_WEBHOOKS; i++) await service.ok('/v1/webhooks.createWebhook', { url });
      return post('webhooks.createWebhook', { url });
    },
  ],
];
