import { afterAll, beforeAll, expect, test, describe } from 'bun:test';

import * as fc from 'fast-check';

import { TestService } from '../../support/service.ts';
import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { UNKNOWN_KEY, type Verdict } from '../../../src/engine/verify/verdict.ts';
import { headerLines, headerPairs } from '../../../src/http/verify/verdictAnswer.ts';

describe('the customer in an answer', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });

  afterAll(() => service.close());

  /** Verifies twice, because texts are kept, and compares the length that the answer says. */
  async function seen(key: string): Promise<unknown> {
    let body: unknown;
    for (let i = 0; i < 2; i++) {
      const answer = await service.call('/v1/keys.verifyKey', { key }, { rootKey: null });
      expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(answer.text));
      const { requestId: _id, keyId: _key, ...rest } = answer.body;
      body = rest;
    }
    return body;
  }

  /** A new customer with a usual key and one that expires, of which answers are right. */
  async function customer(externalId: string, meta: object) {
    const given = Object.keys(meta).length === 0 ? {} : { meta };
    const created = await service.ok('/v1/identities.createIdentity', { externalId, ...given });
    const identity = { id: created.identityId as string, externalId, meta };
    const described = { ownerId: externalId, meta: {}, permissions: [], roles: [], identity };
    const valid = { valid: true, code: 'VALID', enabled: true, ...described };
    const usual = await service.createKey({ externalId });
    expect(await seen(usual.key)).toEqual(valid);
    const expires = service.clock.nowMs() + 1_000;
    expect(await seen((await service.createKey({ externalId, expires })).key)).toEqual({ ...valid, expires });
    return { usual, valid, identity };
  }

  const PLAIN = [3, 8, 36, 37, 41, 42, 43, 60, 186, 187, 188, 255].map(
    (length) => `${'abc 1! '.repeat(40).slice(0, length - 1)}x`,
  );
  const STRANGE = [
    '"quoted"',
    'back\\slash',
    'Müller',
    'with\ttab',
    'del\u007f',
    '\u2028'.repeat(3),
    '\ud83d\ude00 smile',
  ];

  test.each([...PLAIN, ...STRANGE].map((externalId) => [externalId]))(
    'what answers say of a key of the customer %p, who has no metadata, is true and follows every change',
    async (externalId) => {
      const { usual, valid, identity } = await customer(externalId, {});
      expect(await seen((await service.createKey({ externalId, name: 'a' })).key)).toEqual({ ...valid, name: 'a' });
      await service.ok('/v1/identities.updateIdentity', { externalId, enabled: false });
      expect(await seen(usual.key)).toEqual({ ...valid, valid: false, code: 'DISABLED' });
      await service.ok('/v1/identities.updateIdentity', { externalId, enabled: true, meta: { city: 'Genf' } });
      expect(await seen(usual.key)).toEqual({ ...valid, identity: { ...identity, meta: { city: 'Genf' } } });
      await service.ok('/v1/identities.updateIdentity', { externalId, meta: null });
      expect(await seen(usual.key)).toEqual(valid);
    },
  );

  test.each([['acme "1"'], ['Bäckerei Müller'], ['株式会社\u2028']])(
    'what answers say of a key of the customer %p has the length that they say, and follows every change',
    async (externalId) => {
      const { usual, valid, identity } = await customer(externalId, { city: `Zürich ${externalId}` });
      const named = await service.createKey({ externalId, name: 'Schlüssel', meta: { a: 'ü' } });
      expect(await seen(named.key)).toEqual({ ...valid, name: 'Schlüssel', meta: { a: 'ü' } });
      await service.ok('/v1/keys.updateKey', { keyId: usual.keyId, enabled: false });
      const disabled = { valid: false, code: 'DISABLED', enabled: false };
      expect(await seen(usual.key)).toEqual({ ...valid, ...disabled });
      await service.ok('/v1/keys.updateKey', { keyId: usual.keyId, enabled: true });
      await service.ok('/v1/identities.updateIdentity', { externalId, meta: { city: 'Genf' } });
      expect(await seen(usual.key)).toEqual({ ...valid, identity: { ...identity, meta: { city: 'Genf' } } });
    },
  );
});

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
