import { type Case, create, post, raw, update } from './case.ts';

const daily = { interval: 'daily', amount: 1 };
const limit = { limit: 1, duration: 1000 };
const ZONES = ['Mars/Olympus', 'europe/berlin', 'GMT+1', '+01:00', 'UTC ', "UTC'; DROP TABLE keys"];
const ADDRESSES = ['10.0.0.0/33', '300.1.1.1', '10.0.0', 'localhost', '::/129', '1.2.3.4/', '01.2.3.4'];
const farAway = { refill: { ...daily, timezone: 'Mars/Olympus' }, ipAllowlist: ['10.0.0.1', 'x'] };

/** Wrong for createKey and updateKey alike. */
const FIELDS: readonly (readonly [title: string, fields: object])[] = [
  ['refillDay with daily', { remaining: 1, refill: { ...daily, refillDay: 1 } }],
  ['refillWeekday with daily', { remaining: 1, refill: { ...daily, refillWeekday: 1 } }],
  ['refillWeekday 8', { remaining: 1, refill: { interval: 'weekly', amount: 1, refillWeekday: 8 } }],
  ...ZONES.map((timezone) => [`the time zone ${timezone}`, { remaining: 1, refill: { ...daily, timezone } }] as const),
  ['max without mode add', { remaining: 1, refill: { ...daily, max: 5 } }],
  ['a ratelimit without numbers', { ratelimit: {} }],
  ['a ratelimit without a limit', { ratelimit: { duration: 1000 } }],
  ['a ratelimit without a duration', { ratelimit: { limit: 1 } }],
  ['a limit named default among the others', { ratelimits: [{ name: 'default', ...limit }] }],
  ['a limit given twice', { ratelimits: ['a', 'b', 'a'].map((name) => ({ name, ...limit })) }],
  ...ADDRESSES.map((entry) => [`the address ${entry}`, { ipAllowlist: ['10.0.0.1', entry] }] as const),
  ['several at once', { remaining: 1, refill: { ...daily, refillDay: 1, max: 5 }, ipAllowlist: ['x'] }],
  ...['a\0b', '\ud800', 'a\udc00'].map((name) => [`the name ${JSON.stringify(name)}`, { name }] as const),
  ['a name that is too long and has a NUL', { name: `${'a'.repeat(257)}\0` }],
  ['a name of another type', { name: 5 }],
  ['a wrong time zone and address with a problem of the schema', { ...farAway, name: 5 }],
  ['enabled: null', { enabled: null }],
];

const members = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join(',')}}`;

/** As text: not all of it is a value of JavaScript. */
const METAS = [
  ['16 KiB and one byte', `{"a":"${'x'.repeat(16_377)}"}`],
  ['257 members', members(257)],
  ['257 members in all', `{"a":${members(256)}}`],
  ['257 entries of a list', `{"a":[${'1,'.repeat(255)}1]}`],
  ['1e400', '{"a":1e400}'],
  ['-1e400', '{"a":[-1e400]}'],
  ['2^53', '{"a":9007199254740992}'],
  ['2^53+1', '{"a":9007199254740993}'],
  ['a lone surrogate', '{"a":"\\ud800"}'],
  ['a lone surrogate in a name', '{"\\udc00":1}'],
] as const;

const TOO_LONG = [
  ['257 keys', '🔑'.repeat(257)],
  ['129 letters with an accent of their own', 'e\u0301'.repeat(129)],
  ['37 families of 7 characters', '👩‍👩‍👧‍👦'.repeat(37)],
] as const;

const PREFIXES = ['a b', 'ümlaut', 'a/b', '', 'a'.repeat(17), 'a\n', "'; --"];

export const CREATE_KEY: readonly Case[] = [
  ...FIELDS.map(([title, fields]): Case => [title, create(fields)]),
  ['a refill without remaining', create({ refill: daily })],
  ['an expiry at 1', create({ expires: 1 })],
  ['an expiry at 0', create({ expires: 0 })],
  [
    'an expiry in the past',
    ({ apiId, service }) => post('keys.createKey', { apiId, expires: service.clock.nowMs() - 1 }),
  ],
  ['an expiry now', ({ apiId, service }) => post('keys.createKey', { apiId, expires: service.clock.nowMs() })],
  ['an expiry in seconds', create({ expires: Date.parse('2026-03-15T13:00:00Z') / 1000 })],
  ...PREFIXES.map((prefix): Case => [`the prefix ${JSON.stringify(prefix)}`, create({ prefix })]),
  ['an unknown api', () => post('keys.createKey', { apiId: 'api_unknown' })],
  ['a recoverable key', create({ recoverable: true })],
  [
    'a wrong time zone and address with problems between fields',
    create({ expires: 1, ...farAway, refill: { ...farAway.refill, refillDay: 1 } }),
  ],
  ...METAS.map(([title, meta]): Case => [
    `a meta of ${title}`,
    ({ apiId }) => raw('keys.createKey', `{"apiId":"${apiId}","meta":${meta}}`),
  ]),
  ...TOO_LONG.map(([title, name]): Case => [`a name of ${title}`, create({ name })]),
];

export const UPDATE_KEY: readonly Case[] = [
  ...FIELDS.map(([title, fields]): Case => [title, update(fields)]),
  ['a refill with remaining cleared', update({ remaining: null, refill: daily })],
  ['a reference to nothing', update({ roles: [{}] })],
  [
    'enabled: null for a disabled key',
    async ({ service, apiId }) => {
      const { keyId } = await service.createKey({ apiId, enabled: false });
      return post('keys.updateKey', { keyId, enabled: null });
    },
  ],
];
