import { describe, expect, test } from 'bun:test';

import { recordChangeOf, type RecordWrite } from '../../../src/storage/port/writes.ts';
import type { RecordChange } from '../../../src/storage/port/freshness.ts';
import {
  api,
  identity,
  key,
  namespace,
  override,
  permission,
  plan,
  role,
  rootKey,
} from '../../postgres/conformance/samples.ts';

const NOTHING: RecordChange = {
  keys: [],
  apis: [],
  identities: [],
  plans: [],
  namespaces: [],
  rbac: false,
  rootKeys: false,
};

const batch = { id: 'b_1', migrationId: 'mig_1', apiId: 'api_1', first: 0, count: 1, keys: '[]', actor: '{}' };
const rotation = { kind: 'rotateRootKey', rootKeyId: 'rk_1', expect: 'a', secretDigest: 'b', start: 's' } as const;

const session = {
  kind: 'insertSession',
  session: {
    id: 'ses_1',
    digest: 'a',
    rootKeyId: 'rk_1',
    createdAtMs: 1,
    usedAtMs: 1,
    untilMs: 2,
    origin: null,
    browser: null,
  },
  expect: 'b',
  most: 1,
} as const;

/** Every kind of write, and what nodes must forget because of it; null: nothing. */
const doomed = (id: string, ...digests: string[]) => ({ id, expect: 1, digests, words: [] });

const TOUCHES: readonly (readonly [string, RecordWrite, Partial<RecordChange> | null])[] = [
  [
    'a new key, of which nodes may remember that there is none',
    { kind: 'insertKey', key: key('key_1') },
    { keys: ['digest of key_1'] },
  ],
  ['a changed key', { kind: 'updateKey', key: key('key_1'), expect: 1 }, { keys: ['digest of key_1'] }],
  [
    'a changed key with former secrets',
    { kind: 'updateKey', key: key('key_1'), expect: 1, formerDigests: ['old', 'older'] },
    { keys: ['digest of key_1', 'old', 'older'] },
  ],
  [
    'a removed key, under all its secrets',
    { kind: 'removeKey', key: { id: 'key_1', apiId: 'api_1' }, expect: 1, digests: ['new', 'old'] },
    { keys: ['new', 'old'] },
  ],
  [
    'keys that are deleted together',
    { kind: 'retireKeys', keys: [doomed('key_1', 'a', 'b'), doomed('key_2', 'c')], deletedAtMs: 1 },
    { keys: ['a', 'b', 'c'] },
  ],
  [
    'keys that are removed together',
    { kind: 'removeKeys', apiId: 'api_1', keys: [doomed('key_1', 'a'), doomed('key_2', 'c')] },
    { keys: ['a', 'c'] },
  ],
  ['the end of former secrets, which comes with their key', { kind: 'endSecrets', owner: 'key_1' }, null],
  ['a new api', { kind: 'insertApi', api: api('api_1') }, null],
  ['a changed api', { kind: 'updateApi', api: api('api_1'), expect: 0, endsKeys: false }, null],
  ['an api whose keys end', { kind: 'updateApi', api: api('api_1'), expect: 0, endsKeys: true }, { apis: ['api_1'] }],
  ['a new identity', { kind: 'insertIdentity', identity: identity('id_1', 'user') }, null],
  [
    'a changed identity',
    { kind: 'updateIdentity', identity: identity('id_1', 'user'), expect: 0 },
    { identities: ['id_1'] },
  ],
  ['a removed identity', { kind: 'removeIdentity', identityId: 'id_1', expect: 0 }, { identities: ['id_1'] }],
  ['a new plan', { kind: 'insertPlan', plan: plan('plan_1', 'pro') }, null],
  ['a changed plan', { kind: 'updatePlan', plan: plan('plan_1', 'pro'), expect: 1 }, { plans: ['plan_1'] }],
  ['a removed plan', { kind: 'removePlan', planId: 'plan_1', expect: 1 }, { plans: ['plan_1'] }],
  ['a holder of a plan, which changes by itself', { kind: 'joinPlan', planId: 'plan_1', expect: 1 }, null],
  ['a former secret', { kind: 'insertSecret', secret: { digest: 'a', owner: 'key_1', untilMs: 1 } }, null],
  ['a new permission', { kind: 'insertPermission', permission: permission('perm_1', 'a') }, null],
  ['a removed permission', { kind: 'removePermission', permissionId: 'perm_1' }, { rbac: true }],
  ['a new role', { kind: 'insertRole', role: role('role_1', 'a') }, null],
  ['a changed role', { kind: 'updateRole', role: role('role_1', 'a'), expect: 0 }, { rbac: true }],
  ['a removed role', { kind: 'removeRole', roleId: 'role_1', expect: 0 }, { rbac: true }],
  [
    'a new namespace, by its id and by its name',
    { kind: 'insertNamespace', namespace: namespace('ns_1', 'emails') },
    { namespaces: ['ns_1', 'emails'] },
  ],
  [
    'a new override',
    { kind: 'insertOverride', override: override('ovr_1', 'a'), expectPatterns: 0 },
    { namespaces: ['ns_1'] },
  ],
  [
    'a changed override',
    { kind: 'updateOverride', override: override('ovr_1', 'a'), expect: 0, expectPatterns: 0 },
    { namespaces: ['ns_1'] },
  ],
  [
    'a removed override',
    { kind: 'removeOverride', override: override('ovr_1', 'a'), expectPatterns: 0 },
    { namespaces: ['ns_1'] },
  ],
  ['a new root key', { kind: 'insertRootKey', rootKey: rootKey('rk_1') }, { rootKeys: true }],
  ['a rotated root key', rotation, { rootKeys: true }],
  ['a revoked root key', { kind: 'revokeRootKey', rootKeyId: 'rk_1', revokedAtMs: 1 }, { rootKeys: true }],
  ['a session, which may end an older one', session, { rootKeys: true }],
  ['the end of a session', { kind: 'endSession', sessionId: 'ses_1' }, { rootKeys: true }],
  ['the end of all sessions of a root key', { kind: 'endSessions', rootKeyId: 'rk_1' }, { rootKeys: true }],
  ['the use of a session', { kind: 'useSession', sessionId: 'ses_1', usedAtMs: 1, untilMs: 2 }, null],
  ['a bound', { kind: 'requireAtMost', what: 'roles', of: null, most: 1 }, null],
  ['an import that waits', { kind: 'enqueueImport', batch, mostWaiting: 10 }, null],
  ['an import that is done', { kind: 'finishImport', batch: { ...batch, done: 1, errors: [] } }, null],
];

describe('what a change touches of what nodes keep in memory', () => {
  test.each(TOUCHES)('%s', (_name, write, touched) => {
    expect(recordChangeOf([write])).toEqual(touched === null ? null : { ...NOTHING, ...touched });
  });

  test('several writes touch all that each of them does; none touch nothing', () => {
    expect(recordChangeOf([])).toBeNull();
    expect(recordChangeOf(TOUCHES.map(([, write]) => write))).toEqual({
      keys: TOUCHES.flatMap(([, , touched]) => touched?.keys ?? []),
      apis: ['api_1'],
      identities: ['id_1', 'id_1'],
      plans: ['plan_1', 'plan_1'],
      namespaces: ['ns_1', 'emails', 'ns_1', 'ns_1', 'ns_1'],
      rbac: true,
      rootKeys: true,
    });
  });
});
