import records from '../../clients/records.json';
import { DAY, type Script } from './playScript.ts';

const MINUTE = 60_000;
const DAILY = { interval: 'daily', amount: 3 };
const local = (name: string, limit = 1) => ({ name, limit, duration: MINUTE, async: true });
const strict = (name: string, limit = 1) => ({ name, limit, duration: MINUTE, async: false });
const ask = (options: object = {}) => ({ verify: options });

const { externalId: _owner, ...EVERY_FIELD } = records.identity.create;

/** What a program does with a key and its owner, and what that shows. */
export const SCRIPTS: readonly (readonly [string, Script])[] = [
  [
    'every field of a key and its identity',
    {
      key: { ...records.key.create, externalId: 'OWNER' },
      steps: [
        { identity: EVERY_FIELD },
        ask({ clientIp: '192.0.2.7', permissions: 'permission.every', tags: ['a'] }),
        ask({ clientIp: '198.51.100.7' }),
        ask({ clientIp: '192.0.2.7', ratelimits: [{ name: 'shared' }] }),
        {
          update: {
            metered: true,
            remaining: null,
            refill: null,
            alerts: null,
            meta: null,
            environment: null,
            name: null,
          },
        },
        ask({ clientIp: '192.0.2.7' }),
        { deleteIdentity: { keys: 'detach' } },
        ask({ clientIp: '192.0.2.7' }),
      ],
    },
  ],
  [
    'the field ratelimit: the limit that refused, else the one named default',
    {
      key: { ratelimit: { limit: 2, duration: MINUTE }, ratelimits: [strict('b')] },
      steps: [ask(), ask(), ask({ ratelimits: [{ name: 'c', limit: 5, duration: 1_000 }] })],
    },
  ],
  [
    'null as the credits of a key also ends its refill',
    {
      key: { remaining: 1, refill: DAILY },
      steps: [
        { update: { remaining: null } },
        ask(),
        { update: { remaining: 1 } },
        { advance: 2 * DAY },
        ask(),
        ask(),
        { updateRemaining: { op: 'set', value: null } },
        { update: { refill: DAILY } },
        { updateRemaining: { op: 'increment', value: 1 } },
      ],
    },
  ],
  [
    'a changed amount keeps the running epoch, and another interval begins a new one',
    {
      key: { remaining: 0, refill: DAILY },
      steps: [
        { advance: DAY },
        { update: { refill: { ...DAILY, amount: 5 } } },
        ask({ cost: 0 }),
        { update: { refill: { interval: 'monthly', amount: 9 } } },
        ask({ cost: 0 }),
        { advance: 3 * DAY },
        ask({ cost: 0 }),
      ],
    },
  ],
  [
    'keys share the credits and the limits of their identity',
    {
      key: { externalId: 'OWNER', remaining: 9 },
      steps: [
        { identity: { remaining: 2, refill: DAILY, meta: { plan: 'pro' }, ratelimits: [strict('shared', 2)] } },
        ask(),
        ask({ ratelimits: [{ name: 'shared', cost: 2 }] }),
        ask(),
        { identity: { remaining: 5 } },
        ask({ ratelimits: [{ name: 'shared' }] }),
        ask({ ratelimits: [{ name: 'shared', limit: 9, duration: MINUTE }] }),
        ask({ ratelimits: [{ name: 'unknown' }] }),
        { advance: DAY },
        { identity: {} },
        { identity: { enabled: false, name: 'Acme', maxKeys: 1 } },
        ask(),
        { identity: { enabled: true, ratelimits: [{ ...strict('shared', 3), autoApply: false }, strict('other')] } },
        ask(),
        ask({ ratelimits: [{ name: 'shared' }] }),
        { deleteIdentity: {} },
        { deleteIdentity: { keys: 'detach' } },
        ask(),
        { deleteIdentity: { keys: 'detach' } },
      ],
    },
  ],
  [
    'an ad-hoc strict limit that is configured later starts again',
    {
      key: { ratelimits: [{ ...strict('b'), duration: 1_000 }] },
      steps: [
        ask({ ratelimits: [{ name: 'b', duration: MINUTE }] }),
        { update: { ratelimits: [strict('b')] } },
        ask(),
        ask(),
      ],
    },
  ],
  [
    'local limits refuse before strict ones, and alone',
    {
      key: { ratelimits: [strict('a', 5), local('b'), strict('c')], remaining: 5 },
      steps: [ask(), ask(), { advance: MINUTE }, ask({ cost: 9 }), ask()],
    },
  ],
  [
    'an idempotency key: a retry is charged once, also when the local limit is used up, and another request is a conflict',
    {
      key: { remaining: 5, ratelimit: { limit: 1, duration: MINUTE } },
      steps: [
        ask({ idempotencyKey: 'once-1234' }),
        ask({ idempotencyKey: 'once-1234' }),
        { rotate: 0 },
        ask({ idempotencyKey: 'once-1234' }),
        ask({ idempotencyKey: 'once-1234', cost: 2 }),
        ask({ idempotencyKey: 'other-1234' }),
      ],
    },
  ],
  [
    'an earlier answer of counters that the key has no more shows neither balance nor strict limits',
    {
      key: { remaining: 5, ratelimits: [strict('a', 2)] },
      steps: [
        ask({ idempotencyKey: 'once-1234' }),
        { update: { ratelimits: null } },
        ask({ idempotencyKey: 'once-1234' }),
        { update: { ratelimits: [strict('a', 2), strict('b', 2), local('c')] } },
        ask({ idempotencyKey: 'once-1234' }),
        { update: { ratelimits: [strict('a', 2)] } },
        ask({ idempotencyKey: 'once-1234' }),
      ],
    },
  ],
  [
    'an idempotency key remembers nothing of a key that has only local limits',
    {
      key: { ratelimit: { limit: 2, duration: MINUTE } },
      steps: [1, 2, 3].map(() => ask({ idempotencyKey: 'once-1234' })),
    },
  ],
  [
    'the old secret of a rotation is valid for its overlap',
    {
      key: { prefix: 'demo' },
      steps: [
        { rotate: 1_000 },
        { verify: {}, secret: 'previous' },
        { advance: 999 },
        { verify: {}, secret: 'previous' },
        { advance: 1 },
        { verify: {}, secret: 'previous' },
        ask(),
      ],
    },
  ],
];
