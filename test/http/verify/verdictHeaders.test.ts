import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { UNKNOWN_KEY, type Verdict } from '../../../src/engine/verify/verdict.ts';
import { headerLines, headerPairs } from '../../../src/http/verify/verdictAnswer.ts';

const report = fc.record({
  limit: fc.record({
    name: fc.oneof(fc.constant('default'), fc.constant('a"\\\n😀'), fc.string({ minLength: 1 })),
    limit: fc.nat(),
    durationMs: fc.nat(),
    async: fc.boolean(),
    cost: fc.nat(),
    ofIdentity: fc.boolean(),
    isAdHoc: fc.boolean(),
    account: fc.constant(null),
    notify: fc.boolean(),
    wire: fc.constant(null),
  }),
  remaining: fc.nat(),
  resetAtMs: fc.nat(),
  exceeded: fc.boolean(),
});

const verdict: fc.Arbitrary<Verdict> = fc
  .record({
    code: fc.constantFrom(...VERDICT_CODES),
    limits: fc.option(fc.array(report, { maxLength: 3 })),
    replayed: fc.boolean(),
    atMs: fc.nat(),
  })
  .map((fields) => ({
    ...UNKNOWN_KEY,
    ...fields,
    limits: fields.limits?.map((each) => ({ ...each, limit: { ...each.limit } })) ?? null,
  }));

test('the front and the general handler send the same headers with a verdict', () => {
  fc.assert(
    fc.property(verdict, fc.boolean(), (decided, hasLimitHeaders) => {
      const pairs = headerPairs(decided, hasLimitHeaders);
      const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      expect(headerLines(decided, hasLimitHeaders)).toBe(lines);
      expect(new Headers(pairs.map(([name, value]) => [name, value])).has('ratelimit')).toBe(
        hasLimitHeaders && (decided.limits?.length ?? 0) > 0,
      );
    }),
  );
});
