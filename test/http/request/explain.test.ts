import { describe, expect, test } from 'bun:test';

import { Type, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import * as fc from 'fast-check';

import { makeSecret } from '../../../src/core/secret.ts';
import { explain, isValid, explainInSteps } from '../../../src/http/request/explain.ts';
import { Count, DurationMs, Name, orNull, Prefix, strict } from '../../../src/model/schema/schemas.ts';
import { Refill } from '../../../src/http/shapes/counters/creditFields.ts';
import { NamedRatelimits } from '../../../src/http/shapes/counters/keyLimitFields.ts';
import { VerifyBody, ReserveBody } from '../../../src/http/verify/verifyRequest.ts';
import { MAX_ISSUES } from '../../../src/core/bounds.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { verifyKeys } from '../../../src/http/routes/keys.verifyKeys.ts';

const schema = strict({
  name: Name,
  remaining: Type.Optional(orNull(Count)),
  enabled: Type.Optional(Type.Boolean()),
  refill: Type.Optional(orNull(Refill)),
  prefix: Type.Optional(Prefix),
  ratelimits: Type.Optional(NamedRatelimits),
  window: Type.Optional(DurationMs),
});
const compiled = Compile(schema);

const messages = (value: unknown) => explain(schema, value).map(({ message }) => message);

describe('explain', () => {
  test.each([
    [{}, ['name is missing']],
    [null, ['The body must be an object, got null']],
    [[], ['The body must be an object, got a list of 0 items']],
    ['secret', ['The body must be an object, got a string of 6 characters (not shown)']],
    [{ name: 5 }, ['name must be a string of 1 to 256 characters, got 5']],
    [{ name: '' }, ['name must be a string of 1 to 256 characters, got ""']],
    [{ name: 'x', remaining: -1 }, ['remaining must be a whole number from 0 to 9007199254740991 or null, got -1']],
    [{ name: 'x', remaining: 1.5 }, ['remaining must be a whole number from 0 to 9007199254740991 or null, got 1.5']],
    [{ name: 'x', remaining: '5' }, ['remaining must be a whole number from 0 to 9007199254740991 or null, got "5"']],
    [
      { name: 'x', remaining: Infinity },
      ['remaining must be a whole number from 0 to 9007199254740991 or null, got a number that is too large'],
    ],
    [
      { name: 'x', remaining: 2 ** 53 },
      ['remaining must be a whole number from 0 to 9007199254740991 or null, got 9007199254740992'],
    ],
    [{ name: 'x', enabled: 'yes' }, ['enabled must be true or false, got "yes"']],
    [{ name: 'x', window: 999 }, ['window must be a whole number from 1000 to 31622400000, got 999']],
    [{ name: 'x', prefix: 'a b' }, ['prefix must be 1 to 16 of the characters A-Z a-z 0-9 _ . -, got "a b"']],
    [{ name: 'x', remainign: 1 }, ['unknown field `remainign`, did you mean `remaining`?']],
    [{ name: 'x', colour: 1 }, ['unknown field `colour`']],
    [
      { name: 'x', refill: { interval: 'yearly', amount: 0 } },
      [
        'refill.interval must be one of "hourly", "daily", "weekly", "monthly", got "yearly"',
        'refill.amount must be a whole number from 1 to 9007199254740991, got 0',
      ],
    ],
    [{ name: 'x', refill: 5 }, ['refill must be an object or null, got 5']],
    [{ name: 'x', ratelimits: {} }, ['ratelimits must be a list of 0 to 50 items, got an object']],
    [
      {
        name: 'x',
        ratelimits: [
          { name: 'a', limit: 1, duration: 1000 },
          { name: 'b', limit: 1 },
        ],
      },
      ['ratelimits[1].duration is missing'],
    ],
  ])('%j', (value, expected) => {
    expect(messages(value)).toEqual(expected);
    expect(compiled.Check(value)).toBe(false);
  });

  test('what the schema takes has nothing to explain', () => {
    for (const value of [
      { name: 'x' },
      { name: 'x', remaining: null, refill: null, enabled: false },
      { name: '😀'.repeat(256), remaining: 0, refill: { interval: 'daily', amount: 1, refillDay: null } },
    ]) {
      expect(messages(value)).toEqual([]);
      expect(compiled.Check(value)).toBe(true);
    }
  });

  test('all problems are told together, each with its path, up to 10', () => {
    expect(explain(schema, { nmae: 1, enabled: 2, refill: { x: 1 } }).map(({ path }) => path)).toEqual([
      'name',
      'nmae',
      'enabled',
      'refill.interval',
      'refill.amount',
      'refill.x',
    ]);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`field${i}`, 1]));
    expect(explain(schema, { name: 'x', ...many }).length).toBe(10);
  });

  test('what was sent is shown, cut at 64 characters', () => {
    expect(messages({ name: 'y'.repeat(257), enabled: 'a"b\n' })).toEqual([
      `name must be a string of 1 to 256 characters, got "${'y'.repeat(64)}"... (257 characters)`,
      'enabled must be true or false, got "a\\"b\\n"',
    ]);
    const long = messages({ name: 'y'.repeat(4_000_000) })[0];
    expect(long).toEndWith(`got "${'y'.repeat(64)}"... (more than 10000 characters)`);
  });

  test('a text with the checksum of a secret is never shown', () => {
    const secret = makeSecret('root', new Uint8Array(16).fill(7));
    expect(messages({ name: 'x', enabled: secret, prefix: secret })).toEqual([
      'enabled must be true or false, got (a secret)',
      'prefix must be 1 to 16 of the characters A-Z a-z 0-9 _ . -, got (a secret)',
    ]);
  });

  test.each([
    ['Bearer ', ''],
    [' ', ''],
    ['', '\n'],
    ['{"key":"', '"}'],
    ['x'.repeat(50) + ' ', ' and more'],
  ])('a text with a secret in it is not shown either (%j, %j)', (before, after) => {
    const secret = makeSecret('root', new Uint8Array(16).fill(7));
    expect(messages({ name: 'x', enabled: before + secret + after })).toEqual([
      expect.stringMatching(/^enabled must be true or false, got \(a secret\)/),
    ]);
  });

  test('what stands where a secret belongs is never shown', () => {
    const secret = 'sk_VERYSECRET';
    const wrong = strict({
      key: Type.Integer(),
      plaintext: Type.Integer(),
      start: Type.Integer(),
      hash: strict({ value: Type.Integer(), variant: Type.Literal('sha256_base64') }),
      keys: Type.Array(strict({ key: Type.Integer() })),
    });
    const issues = [
      ...explain(wrong, {
        key: secret,
        plaintext: secret,
        start: secret,
        hash: { value: secret, variant: secret },
        keys: [secret, { key: secret }],
      }),
      ...explain(wrong, { key: 1, plaintext: 1, start: 1, hash: secret, keys: secret }),
      ...explain(wrong, secret),
      ...explain(Type.Array(wrong), [secret]),
    ];
    expect(explain(VerifyBody, { key: 5 })[0]?.message).toEndWith('got a number (not shown)');
    const [kind] = explain(wrong, { hash: { value: 1, variant: 'bcrypt' } }).filter(
      ({ path }) => path === 'hash.variant',
    );
    expect(kind?.message).toEndWith('got "bcrypt"');
    expect(explain(wrong, { plaintext: 'shared_key_1' })[0]?.message).not.toContain('shared_key_1');
    expect(issues.map(({ path }) => path)).toEqual([
      'key',
      'plaintext',
      'start',
      'hash.value',
      'hash.variant',
      'keys[0]',
      'keys[1].key',
      'hash',
      'keys',
      '',
      '[0]',
    ]);
    for (const { message } of issues) expect(message).toEndWith('got a string of 13 characters (not shown)');
  });

  test('an unknown name is cut at 64 characters', () => {
    expect(messages({ name: 'x', ['z'.repeat(1000)]: 1 })).toEqual([`unknown field \`${'z'.repeat(64)}\``]);
  });

  test('`__proto__` and other inherited names are unknown fields like any other', () => {
    const value = JSON.parse('{"name":"x","__proto__":1,"constructor":2}') as unknown;
    expect(messages(value)).toEqual(['unknown field `__proto__`', 'unknown field `constructor`']);
  });

  test('nothing is looked at behind the last problem that is told', () => {
    const looked: string[] = [];
    const entry = (i: number): object =>
      new Proxy(Object.fromEntries(Array.from({ length: 633 }, (_, j) => [`unknown${j}`, 1])), {
        ownKeys(target) {
          looked.push(`entry ${i}`);
          return Reflect.ownKeys(target);
        },
      });
    const list = Array.from({ length: 100 }, (_, i) => entry(i));
    const issues = explain(Type.Array(schema), list);
    expect(issues.map(({ path }) => path)).toEqual([
      '[0].name',
      ...Array.from({ length: 9 }, (_, j) => `[0].unknown${j}`),
    ]);
    expect([...new Set(looked)]).toEqual(['entry 0']);
  });

  test('a choice is left at its first problem', () => {
    const looked: number[] = [];
    const list = new Proxy(
      Array.from({ length: 1000 }, () => 'not a number'),
      {
        get(target, property) {
          if (typeof property === 'string' && /^\d+$/.test(property)) looked.push(Number(property));
          return Reflect.get(target, property) as unknown;
        },
      },
    );
    const issues = explain(orNull(Type.Array(Type.Integer(), { maxItems: 1000 })), list);
    expect(issues.length).toBe(10);
    expect(Math.max(...looked)).toBe(9);
    // Once for the choice, then twice for each problem that is told.
    expect(looked.filter((i) => i > 0).length).toBe(2 * 9);
  });

  test('a list that is too long is refused before its items are looked at, wherever it stands', () => {
    const looked: string[] = [];
    const long = new Proxy(
      Array.from({ length: 100_000 }, () => 'x'),
      {
        get(target, property) {
          if (typeof property === 'string' && /^\d+$/.test(property)) looked.push(property);
          return Reflect.get(target, property) as unknown;
        },
      },
    );
    const key = Type.Object({
      name: Type.String(),
      ips: Type.Optional(orNull(Type.Array(Type.String(), { maxItems: 100 }))),
    });
    const keys = Type.Object({ keys: Type.Array(key, { maxItems: 3 }) });
    const body = {
      keys: [
        { name: 'a', ips: null },
        { name: 'b', ips: long },
      ],
    };
    expect(explain(keys, body).map(({ message }) => message)).toEqual([
      'keys[1].ips must be a list of 0 to 100 items or null, got a list of 100000 items',
    ]);
    expect(looked).toEqual([]);
    expect(isValid(keys, body)).toBe(false);
    expect(isValid(keys, { keys: [{ name: 'a', ips: Array<string>(100).fill('x') }] })).toBe(true);
  });

  test('lengths are told in characters, of half ones too', () => {
    const told = (text: string) => /\((\d+) characters\)$/.exec(messages({ name: text })[0] ?? '')?.[1];
    expect(told('😀'.repeat(257))).toBe('257');
    expect(told(`${'\ud800'.repeat(200)}${'\udc00'.repeat(200)}`)).toBe('399');
    expect(messages({ name: '😀'.repeat(256) })).toEqual([]);
  });
});

interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly format?: string;
}

const SCHEMAS: readonly (readonly [name: string, schema: TSchema])[] = [
  ...ROUTES.map(({ path, request }) => [path, request] as const),
  ['/v1/keys.verifyKey', VerifyBody],
  ['/v1/reservations.create', ReserveBody],
  [verifyKeys.path, verifyKeys.request],
  [
    'inherited names',
    Type.Object({ constructor: Type.Integer(), 'a/b~c': Type.Optional(Type.Null()) }, { additionalProperties: false }),
  ],
];

const anything = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      '',
      'a',
      'daily',
      5,
      -1,
      1.5,
      2 ** 53,
      [],
      {},
      '\0',
      '😀'.repeat(300),
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

const LIKELY: Readonly<Record<string, readonly unknown[]>> = {
  integer: [0, 1, 5, 1000, 60_000],
  string: ['a', 'abc', 'x'.repeat(16), 'api_1Jm8ZtYh4mRr6GjK8uTx3S', 'order-0001'],
  boolean: [true, false],
  null: [null],
};

/**
 * Values that mostly fit, and differ from what fits in a few places at any depth. Formats are left right: the validator does not know them.
 */
function nearly(node: Node): fc.Arbitrary<unknown> {
  if (node.format !== undefined) return fc.constantFrom(node.format === 'time-zone' ? 'UTC' : '10.0.0.1');
  return fc.oneof({ weight: 12, arbitrary: fitting(node) }, { weight: 1, arbitrary: anything });
}

function fitting(node: Node): fc.Arbitrary<unknown> {
  if (node.const !== undefined) return fc.constant(node.const);
  if (node.anyOf !== undefined) return fc.oneof(...node.anyOf.map(nearly));
  if (node.type === 'array') return fc.array(nearly(node.items ?? {}), { maxLength: 3 });
  if (node.type === 'object') return members(node.properties ?? {});
  const likely = LIKELY[node.type ?? ''];
  return likely === undefined ? anything : fc.constantFrom(...likely);
}

function members(properties: Readonly<Record<string, Node>>): fc.Arbitrary<object> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, nearly(node)])), {
    requiredKeys: [],
  });
  const names = fc.constantFrom('unknown', '__proto__', 'constructor', 'a/b~c', 'toString', '');
  const others = fc.array(fc.tuple(names, anything), { maxLength: 1 });
  const few = { weight: 1, arbitrary: others };
  return fc
    .tuple(known, fc.oneof({ weight: 8, arbitrary: fc.constant([]) }, few))
    .map(([fields, added]) => Object.fromEntries([...Object.entries(fields), ...added]));
}

test.each(SCHEMAS)('%s: a body has problems exactly when the validator refuses it', (_name, each) => {
  const validator = Compile(each);
  fc.assert(
    fc.property(nearly(each as Node), (body) => {
      const issues = explain(each, body);
      expect([issues.length > 0, issues.length <= MAX_ISSUES]).toEqual([!validator.Check(body), true]);
    }),
    { numRuns: 150 },
  );
});

test.each(SCHEMAS)('%s: what is checked in steps has the same problems', async (_name, each) => {
  const validator = Compile(each);
  await fc.assert(
    fc.asyncProperty(nearly(each as Node), async (body) => {
      let pauses = 0;
      const issues = await explainInSteps(each, body, () => (++pauses % 2 === 0 ? null : Promise.resolve()));
      expect(issues).toEqual(explain(each, body));
      expect(isValid(each, body)).toBe(validator.Check(body));
    }),
    { numRuns: 50 },
  );
});
