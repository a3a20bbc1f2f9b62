import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { CountColumns } from '../../../src/core/verificationCounts.ts';
import { MAX_PERMISSIONS, MAX_ROLES } from '../../../src/core/bounds.ts';
import type { RecordWrite } from '../../../src/storage/port/records.ts';
import { permission, role } from '../../postgres/conformance/samples.ts';
import { type Answer, TestService } from '../../support/service.ts';
import { shownError } from './shownError.ts';
import { makeRecords, type Records } from './records.ts';

/** The words of errors of management, group by group; `bun test --update-snapshots` takes new ones over. */

let service: TestService;
let records: Records;

beforeAll(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  records = await makeRecords(service, 'x');
});

afterAll(async () => {
  await service.close();
});

type Case = readonly [name: string, ask: () => Promise<Answer>];

const call = (path: string, body: unknown): Promise<Answer> => service.call(`/v1/${path}`, body);
const verify = (permissions: unknown): Promise<Answer> =>
  call('keys.verifyKey', { key: records.key, authorization: { permissions } });
const write = (writes: readonly RecordWrite[]) => service.storage.ledger.apply({ writes, accounts: [] });
const digest = 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=';

const APIS: readonly Case[] = [
  [
    'an api that is protected',
    async () => {
      const apiId = await service.createApi();
      await service.ok('/v1/apis.updateApi', { apiId, deleteProtection: true });
      return call('apis.deleteApi', { apiId });
    },
  ],
  ['a default limit without numbers', () => call('apis.updateApi', { apiId: records.apiId, defaultRatelimit: {} })],
];

const KEYS: readonly Case[] = [
  ['a key to restore that is not deleted', () => call('keys.restoreKey', { keyId: records.keyId })],
  [
    'more former secrets than may be valid',
    async () => {
      const { keyId } = await service.createKey();
      for (let i = 0; i < 10; i++) await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
      return call('keys.rotateKey', { keyId, overlapMs: 60_000 });
    },
  ],
  ['an unknown secret', () => call('keys.whoami', { key: 'demo_unknown' })],
  ['a reference to nothing', () => call('keys.updateKey', { keyId: records.keyId, roles: [{}] })],
  [
    'a permission that there is not',
    () => call('keys.addPermissions', { keyId: records.keyId, permissions: [{ name: 'x' }] }),
  ],
  ['a role that there is not', () => call('keys.addRoles', { keyId: records.keyId, roles: [{ id: 'role_unknown' }] })],
];

const QUERIES: readonly Case[] = [
  ['a query that asks for nothing', () => verify({ and: [null] })],
  ['a part of a query that is none', () => verify({ or: ['a', 5] })],
  ['a list of none to verify', () => call('keys.verifyKeys', { keys: [] })],
];

const IDENTITIES: readonly Case[] = [
  ['an external id that is there', () => call('identities.createIdentity', { externalId: records.externalId })],
  ['no identity named', () => call('identities.getIdentity', {})],
  ['an unknown external id', () => call('identities.getIdentity', { externalId: 'nobody' })],
  [
    'both ids of an identity',
    () => call('identities.updateIdentity', { identityId: records.identityId, externalId: records.externalId }),
  ],
];

const RBAC: readonly Case[] = [
  ['a permission that is there', () => call('permissions.createPermission', { name: records.permission })],
  ['a role that is there', () => call('permissions.createRole', { name: records.role })],
  ['a role by no name', () => call('permissions.setRolePermissions', { permissions: [] })],
  ['a role by two names', () => call('permissions.setRolePermissions', { roleId: 'a', name: 'b', permissions: [] })],
  [
    'more permissions than there can be',
    async () => {
      const many = Array.from({ length: MAX_PERMISSIONS }, (_, i) => permission(`perm_${i}`, `many-${i}`));
      await write(many.map((each) => ({ kind: 'insertPermission', permission: each })));
      return call('permissions.createPermission', { name: 'one too many' });
    },
  ],
  [
    'more roles than there can be',
    async () => {
      const many = Array.from({ length: MAX_ROLES }, (_, i) => role(`role_${i}`, `many-${i}`));
      await write(many.map((each) => ({ kind: 'insertRole', role: each })));
      return call('permissions.createRole', { name: 'one too many' });
    },
  ],
];

const RATELIMITS: readonly Case[] = [
  ['no namespace named', () => call('ratelimits.listOverrides', {})],
  ['an unknown namespace', () => call('ratelimits.listOverrides', { namespaceName: 'nowhere' })],
  [
    'an unknown override',
    () => call('ratelimits.getOverride', { namespaceName: records.namespaceName, identifier: 'nobody' }),
  ],
];

const IMPORTS: readonly Case[] = [
  ['neither a key nor its digest', () => call('migrations.createKeys', [{ apiId: records.apiId }])],
  [
    'a digest that is none',
    () => call('migrations.createKeys', [{ apiId: records.apiId, hash: { value: 'x', variant: 'sha256_base64' } }]),
  ],
  [
    'a digest that is no base64 of 32 bytes',
    () =>
      call('migrations.createKeys', [
        { apiId: records.apiId, hash: { value: `${digest.slice(0, -2)}5=`, variant: 'sha256_base64' } },
      ]),
  ],
  ['a key that is there', () => call('migrations.createKeys', [{ apiId: records.apiId, plaintext: records.key }])],
  [
    'a role that is not there',
    () =>
      call('migrations.createKeys', [{ apiId: records.apiId, plaintext: 'imported-key-of-nobody', roles: ['nobody'] }]),
  ],
  [
    'a migrationId that is in use',
    async () => {
      const apiId = await service.createApi();
      return call('migrations.enqueueKeys', {
        migrationId: records.migrationId,
        apiId,
        keys: [{ plaintext: 'a-key-made-elsewhere-1' }],
      });
    },
  ],
  ['an unknown migration', () => call('migrations.getProgress', { migrationId: 'none' })],
];

const ROOT: readonly Case[] = [
  ['no right', () => call('rootKeys.createRootKey', { name: 'n', permissions: ['api.*.create_keys', '**'] })],
  [
    'a root key that would be over',
    () => call('rootKeys.createRootKey', { name: 'n', permissions: ['*'], expires: 1 }),
  ],
  [
    'a right that the caller does not have',
    async () => {
      const rights = ['root.*.create_root_key'];
      const { secret } = await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
      const body = { name: 'n', permissions: ['api.*.read_key'] };
      return service.call('/v1/rootKeys.createRootKey', body, { rootKey: secret });
    },
  ],
  ['an unknown root key', () => call('rootKeys.revokeRootKey', { rootKeyId: 'rk_unknown' })],
  [
    'a root key to rotate that was revoked',
    async () => {
      const made = await service.ok('/v1/rootKeys.createRootKey', { name: 'n', permissions: ['*'] });
      await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId: made.rootKeyId });
      return call('rootKeys.rotateRootKey', { rootKeyId: made.rootKeyId, overlapMs: 0 });
    },
  ],
  ['a cursor that is none', () => call('audit.listEvents', { cursor: 'x' })],
];

const counted = (fields: object): Promise<Answer> =>
  call('analytics.getVerifications', { apiId: records.apiId, ...fields });

const ANALYTICS: readonly Case[] = [
  ['an end before its start', () => counted({ start: 2, end: 1 })],
  ['two spans of time', () => counted({ groupBy: ['hour', 'day'] })],
  ['an order by a time that is not told', () => counted({ groupBy: 'key', orderBy: 'time' })],
  ['more hours than are told at once', () => counted({ start: 4e12, end: 5e12, groupBy: 'hour' })],
  [
    'more rows than are told at once',
    async () => {
      const minuteMs = Date.parse('2026-03-15T12:00:00Z');
      const counts = [1, 0, 0, 0, 0, 0, 0, 0];
      const blank = { minuteMs, apiId: records.apiId, identityId: '', tags: '', counts, lastAtMs: minuteMs };
      const keys = Array.from({ length: 10_001 }, (_, i) => ({ ...blank, keyId: `key_${i}` }));
      await service.storage.analytics.add(CountColumns.of(keys), 1);
      return counted({ groupBy: 'key' });
    },
  ],
  ['neither a key nor an owner', () => call('keys.getVerifications', {})],
];

describe.each([
  ['analytics', ANALYTICS],
  ['apis', APIS],
  ['keys', KEYS],
  ['permission queries', QUERIES],
  ['identities', IDENTITIES],
  ['permissions and roles', RBAC],
  ['standalone limits', RATELIMITS],
  ['imports', IMPORTS],
  ['root keys and the audit log', ROOT],
])('the words of errors: %s', (_group, cases) => {
  test.each(cases)('%s', async (_name, ask) => {
    const answer = await ask();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(shownError(answer)).toMatchSnapshot();
  });
});
