import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { MAX_ISSUES } from '../../../src/core/bounds.ts';
import { explain, explainInSteps, isValid } from '../../../src/http/request/explain.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { verifyKeys } from '../../../src/http/routes/keys.verifyKeys.ts';
import { ReserveBody, VerifyBody } from '../../../src/http/verify/verifyBody.ts';

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

test.each(SCHEMAS)('%s: a body has problems exactly when the validator refuses it', (_name, schema) => {
  const validator = Compile(schema);
  fc.assert(
    fc.property(nearly(schema as Node), (body) => {
      const issues = explain(schema, body);
      expect([issues.length > 0, issues.length <= MAX_ISSUES]).toEqual([!validator.Check(body), true]);
    }),
    { numRuns: 150 },
  );
});

test.each(SCHEMAS)('%s: what is checked in steps has the same problems', async (_name, schema) => {
  const validator = Compile(schema);
  await fc.assert(
    fc.asyncProperty(nearly(schema as Node), async (body) => {
      let pauses = 0;
      const issues = await explainInSteps(schema, body, () => (++pauses % 2 === 0 ? null : Promise.resolve()));
      expect(issues).toEqual(explain(schema, body));
      expect(isValid(schema, body)).toBe(validator.Check(body));
    }),
    { numRuns: 50 },
  );
});
