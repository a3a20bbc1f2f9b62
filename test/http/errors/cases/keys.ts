import { type Case, post, verify } from './case.ts';

export const KEYS: readonly Case[] = [
  ['getKey of an unknown key', () => post('keys.getKey', { keyId: 'key_unknown' })],
  ['getKey with decrypt', ({ keyId }) => post('keys.getKey', { keyId, decrypt: true })],
  ['restoreKey of a key that is not deleted', ({ keyId }) => post('keys.restoreKey', { keyId })],
  [
    'rotateKey with more former secrets than may be valid',
    async ({ service }) => {
      const { keyId } = await service.createKey();
      for (let i = 0; i < 10; i++) await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
      return post('keys.rotateKey', { keyId, overlapMs: 60_000 });
    },
  ],
  ['whoami of an unknown secret', () => post('keys.whoami', { key: 'demo_unknown' })],
  [
    'addPermissions of a permission that there is not',
    ({ keyId }) => post('keys.addPermissions', { keyId, permissions: [{ name: 'x' }] }),
  ],
  [
    'addRoles of a role that there is not',
    ({ keyId }) => post('keys.addRoles', { keyId, roles: [{ id: 'role_unknown' }] }),
  ],
  ...['increment', 'decrement'].flatMap((op): Case[] => [
    [`${op} by null`, ({ keyId }) => post('keys.updateRemaining', { keyId, op, value: null })],
    [
      `${op} of a counter that is not there`,
      async ({ service, apiId }) => {
        const { keyId } = await service.createKey({ apiId });
        return post('keys.updateRemaining', { keyId, op, value: 1 });
      },
    ],
  ]),
  ['getVerifications of neither a key nor an owner', () => post('keys.getVerifications', {})],
];

const IDEMPOTENCY_KEYS = [
  ['too short', 'a'.repeat(7)],
  ['too long', 'a'.repeat(129)],
  ['with a blank', 'order 0001'],
  ['not ASCII', 'bestellung-ü'],
] as const;

export const VERIFYING: readonly Case[] = [
  ['an empty key', verify({ key: '' })],
  ['clientIp', verify({ clientIp: 'here' })],
  ['an unknown limit', verify({ ratelimits: [{ name: 'nope' }] })],
  ['no default limit', verify({ ratelimit: { cost: 1 } })],
  ['a limit named twice', verify({ ratelimits: [{ name: 'a' }, { name: 'a' }] })],
  ['async of a configured limit', verify({ ratelimits: [{ name: 'a', async: true }] })],
  ...IDEMPOTENCY_KEYS.flatMap(([title, idempotencyKey]): Case[] => [
    [`an idempotency key ${title}`, verify({ idempotencyKey })],
    [`an idempotency key ${title} in the header`, verify({}, { headers: { 'idempotency-key': idempotencyKey } })],
  ]),
  ['two idempotency keys', verify({ idempotencyKey: 'order-0001' }, { headers: { 'idempotency-key': 'order-0002' } })],
  [
    'an idempotency key used again',
    async ({ service, key }) => {
      await service.verify(key, { idempotencyKey: 'order-0003' });
      return post('keys.verifyKey', { key, idempotencyKey: 'order-0003', remaining: { cost: 0 } });
    },
  ],
  ['a list of none to verify', () => post('keys.verifyKeys', { keys: [] })],
];

const QUERIES = [
  ['a query that asks for nothing', { and: [null] }],
  ['a part that is none', { or: ['a', 5] }],
  ['a list', ['a']],
  ['a number', 5],
  ['a list inside', { or: [['a']] }],
  ['or of a number', { or: 5 }],
  ['and of a number', { and: 5 }],
] as const;

export const PERMISSION_QUERIES: readonly Case[] = QUERIES.map(([title, permissions]) => [
  title,
  verify({ authorization: { permissions } }),
]);
