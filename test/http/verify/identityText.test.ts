import { afterAll, beforeAll, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

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
