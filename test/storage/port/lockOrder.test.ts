import { expect, test } from 'bun:test';

import { canShareCommit, inLockOrder } from '../../../src/storage/port/lockOrder.ts';
import type { RecordWrite } from '../../../src/storage/port/writes.ts';
import { api, identity, key, role } from '../../postgres/conformance/samples.ts';

const JOIN = { kind: 'joinIdentity', expect: 1, maxKeys: null } as const;

/** In the order in which they are locked. */
const WRITES: readonly RecordWrite[] = [
  { kind: 'insertApi', api: api('api_1') },
  { kind: 'insertIdentity', identity: identity('id_9', 'a') },
  { kind: 'insertIdentity', identity: identity('id_8', 'b') },
  { kind: 'removeKey', key: { id: 'key_1', apiId: 'api_1' }, expect: 1, digests: [] },
  { kind: 'updateKey', key: key('key_2'), expect: 1 },
  { kind: 'insertKey', key: key('key_9', { secretDigest: 'a' }) },
  { kind: 'insertKey', key: key('key_8', { secretDigest: 'b' }) },
  { kind: 'endSecrets', owner: 'key_2' },
  { ...JOIN, identityId: 'id_1' },
  { kind: 'updateIdentity', identity: identity('id_2', 'c'), expect: 1 },
  { ...JOIN, identityId: 'id_3' },
];

test('the writes of several changes are locked in one order, whichever change comes first', () => {
  expect(inLockOrder(WRITES.toReversed())).toEqual(WRITES);
  expect(inLockOrder([...WRITES.slice(6), ...WRITES.slice(0, 6)])).toEqual(WRITES);
});

test('former secrets keep their order: they end before a new one begins', () => {
  const secrets: RecordWrite[] = [
    { kind: 'endSecrets', owner: 'key_2' },
    { kind: 'insertSecret', secret: { digest: 'a', owner: 'key_2', untilMs: 1 } },
    { kind: 'endSecrets', owner: 'key_1' },
  ];
  expect(inLockOrder(secrets)).toEqual(secrets);
});

test('keys of one change join an identity once; changes that were made from other states of it, or with another bound, join it each', () => {
  const [one, again, other, bounded]: RecordWrite[] = [
    { ...JOIN, identityId: 'id_1' },
    { ...JOIN, identityId: 'id_1' },
    { ...JOIN, identityId: 'id_1', expect: 2 },
    { ...JOIN, identityId: 'id_1', maxKeys: 5 },
  ] as const;
  const joins = inLockOrder([bounded, one, again, other] as RecordWrite[]);
  expect(joins).toEqual([bounded, one, other] as RecordWrite[]);
});

test('of a change with writes that cannot share a commit, only the joins are moved', () => {
  const insertRole: RecordWrite = { kind: 'insertRole', role: role('role_1', 'editor') };
  const [join, insertKey] = [WRITES[8], WRITES[5]] as [RecordWrite, RecordWrite];
  const [apart, together] = [[join, insertKey, insertRole], WRITES];
  expect([canShareCommit(apart), canShareCommit(together)]).toEqual([false, true]);
  expect(inLockOrder(apart)).toEqual([insertKey, insertRole, join]);
});
