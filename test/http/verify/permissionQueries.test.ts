import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const asking = (permissions: unknown) => ({ authorization: { permissions } });

async function codeOf(key: string, permissions: unknown, more: Record<string, unknown> = {}): Promise<string> {
  return (await service.verify(key, { ...asking(permissions), ...more })).code as string;
}

describe('a query', () => {
  test.each<[query: unknown, isSatisfied: boolean]>([
    ['a', true],
    ['x', false],
    [{ and: ['a', 'b'] }, true],
    [{ and: ['a', 'x'] }, false],
    [{ or: ['x', 'b'] }, true],
    [{ or: ['x', 'y'] }, false],
    [{ and: ['a', { or: ['x', { and: ['b', 'c'] }] }] }, true],
    [{ or: [{ and: ['a', 'x'] }, { and: ['b', { or: ['y', 'x'] }] }] }, false],
    [{ and: [null, 'a', null] }, true],
    [{ and: [null, 'x'] }, false],
    [{ or: [null, 'a'] }, true],
    [{ or: [null, 'x'] }, false],
  ])('%j by a key that holds a, b and c: %p', async (query, isSatisfied) => {
    const { key, keyId } = await service.createKey({ permissions: ['a', 'b', 'c'] });
    const verdict = await service.verify(key, asking(query));
    expect([verdict.valid, verdict.code]).toEqual([isSatisfied, isSatisfied ? 'VALID' : 'INSUFFICIENT_PERMISSIONS']);
    expect(verdict).toMatchObject({ keyId, permissions: ['a', 'b', 'c'], roles: [] });
  });

  test('null, or none at all, asks for nothing', async () => {
    const { key } = await service.createKey();
    expect(await codeOf(key, null)).toBe('VALID');
    expect((await service.verify(key, { authorization: {} })).code).toBe('VALID');
    expect(await codeOf(key, 'a')).toBe('INSUFFICIENT_PERMISSIONS');
  });

  const RULE = 'must be a permission of 1 to 512 characters, {and: [...]}, {or: [...]} or null';
  const NOTHING = 'names no permission; name one, or leave the field out';
  const AT = 'authorization.permissions';

  test.each<[query: unknown, path: string, message: string]>([
    [{ and: [] }, AT, `${AT} ${NOTHING}`],
    [{ or: [] }, AT, `${AT} ${NOTHING}`],
    [{ and: [null] }, AT, `${AT} ${NOTHING}`],
    [{ and: ['a', { or: [null] }] }, `${AT}.and[1]`, `${AT}.and[1] ${NOTHING}`],
    [{ or: ['a', null, { and: [] }] }, `${AT}.or[2]`, `${AT}.or[2] ${NOTHING}`],
    [{ and: [{ or: [null, { and: [] }] }] }, `${AT}.and[0].or[1]`, `${AT}.and[0].or[1] ${NOTHING}`],
    [{ and: ['a', 1] }, `${AT}.and[1]`, `${AT}.and[1] ${RULE}, got 1`],
    [{ and: ['a', ''] }, `${AT}.and[1]`, `${AT}.and[1] ${RULE}, got ""`],
    [{ or: [{ and: ['a'], or: ['b'] }] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got an object`],
    [{ or: [{ not: ['a'] }] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got an object`],
    [{ or: [{ and: 'a' }] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got an object`],
    [{ or: [['a']] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got a list of 1 item`],
    [{ or: [{}] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got an object`],
    [{ or: ['n'.repeat(513)] }, `${AT}.or[0]`, `${AT}.or[0] ${RULE}, got "${'n'.repeat(64)}"... (513 characters)`],
  ])('%j is a 400 that says where, and takes nothing', async (query, path, message) => {
    const { key, keyId } = await service.createKey({ permissions: ['a'], remaining: 5 });
    const answer = await service.call('/v1/keys.verifyKey', { key, ...asking(query) }, { rootKey: null });
    expect([answer.status, answer.body.error.code, answer.body.error.issues]).toEqual([
      400,
      'BAD_REQUEST',
      [{ path, message }],
    ]);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
  });

  test.each([
    [1],
    [true],
    [[]],
    [['a']],
    [{}],
    [''],
    ['n'.repeat(513)],
    [{ and: ['a'], or: ['a'] }],
    [{ not: ['a'] }],
    [{ and: 'a' }],
  ])('%j is a 400', async (query) => {
    const { key } = await service.createKey({ permissions: ['a'] });
    const answer = await service.call('/v1/keys.verifyKey', { key, ...asking(query) }, { rootKey: null });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST']);
  });

  test('with thousands of problems is answered with 10 of them', async () => {
    const query = { and: Array<number>(3_900).fill(1) };
    const answer = await service.call('/v1/keys.verifyKey', { key: 'a', ...asking(query) }, { rootKey: null });
    expect([answer.status, answer.body.error.issues.length, answer.text.length < 10_000]).toEqual([400, 10, true]);
  });

  test('nests as deep as a body may, and a deeper one is a 400', async () => {
    const { key } = await service.createKey({ permissions: ['a'] });
    const nested = (levels: number): unknown => (levels === 0 ? 'a' : { and: [nested(levels - 1)] });
    expect(await codeOf(key, nested(15))).toBe('VALID');
    const answer = await service.call('/v1/keys.verifyKey', { key, ...asking(nested(16)) }, { rootKey: null });
    expect([answer.status, answer.body.error.message]).toEqual([400, 'The body is nested more than 32 levels deep.']);
  });

  test('512 characters can be asked for, whatever they are', async () => {
    const name = '😀'.repeat(512);
    const { key } = await service.createKey({ permissions: [name] });
    expect(await codeOf(key, name)).toBe('VALID');
    expect(await codeOf(key, { and: [name] })).toBe('VALID');
  });

  test('is asked of slugs, not of names', async () => {
    await service.ok('/v1/permissions.createPermission', { name: 'Read', slug: 'd.read' });
    const { key } = await service.createKey({ permissions: ['Read'] });
    expect(await codeOf(key, 'd.read')).toBe('VALID');
    expect(await codeOf(key, 'Read')).toBe('INSUFFICIENT_PERMISSIONS');
  });

  test('is satisfied by permissions of the key and of its roles together', async () => {
    const { roleId } = await service.ok('/v1/permissions.createRole', { name: 'editor' });
    await service.ok('/v1/permissions.setRolePermissions', {
      roleId,
      permissions: ['d.*', 'own'].map((name) => ({ name, create: true })),
    });
    const { key } = await service.createKey({ roles: ['editor', 'empty'], permissions: ['own', 'more'] });
    const verdict = await service.verify(key, asking({ and: ['own', 'd.read', 'more'] }));
    expect(verdict).toMatchObject({ valid: true, permissions: ['d.*', 'more', 'own'], roles: ['editor', 'empty'] });
    // A role is none of its permissions.
    expect(await codeOf(key, 'editor')).toBe('INSUFFICIENT_PERMISSIONS');
  });
});

describe('wildcards', () => {
  test.each<[held: string, query: string, isSatisfied: boolean]>([
    ['documents.*', 'documents.read', true],
    ['documents.*', 'documents.1.read', true],
    ['documents.*', 'documents', false],
    ['documents.*', 'document.read', false],
    ['*', 'documents.read', true],
    ['*', 'anything', true],
    ['*.read', 'documents.read', true],
    ['*.read', 'documents.write', false],
    ['doc*', 'documents', false],
    ['documents.read', 'documents.*', false],
    ['documents.read', '*', false],
    ['documents.*', '*', false],
    ['documents.*', 'documents.*', true],
  ])('a key that holds %s, asked for %s: %p', async (held, query, isSatisfied) => {
    const { key } = await service.createKey({ permissions: [held] });
    expect(await codeOf(key, query)).toBe(isSatisfied ? 'VALID' : 'INSUFFICIENT_PERMISSIONS');
  });
});

describe('the order of the checks', () => {
  const limits = {
    remaining: 5,
    ratelimit: { limit: 5, duration: 60_000 },
    ratelimits: [{ name: 'strict', limit: 5, duration: 60_000, async: false }],
  };

  test.each([
    ['another api', {}, { apiId: 'api_other' }, 'FORBIDDEN'],
    ['disabled', { enabled: false }, {}, 'DISABLED'],
    ['expired', { expires: 0 }, {}, 'EXPIRED'],
    ['an address that is not allowed', { ipAllowlist: ['10.0.0.1'] }, {}, 'FORBIDDEN'],
  ])('%s comes before the permissions', async (_what, change, request, code) => {
    const { key, keyId } = await service.createKey(limits);
    await service.ok('/v1/keys.updateKey', { keyId, ...change });
    expect(await codeOf(key, 'a', request)).toBe(code);
  });

  test('the permissions come before limits and credits that are used up', async () => {
    const { key } = await service.createKey(limits);
    for (let i = 0; i < 5; i++) await service.verify(key);
    expect((await service.verify(key)).code).toBe('RATE_LIMITED');
    expect(await codeOf(key, 'a')).toBe('INSUFFICIENT_PERMISSIONS');
    service.clock.advance(60_000);
    expect((await service.verify(key)).code).toBe('USAGE_EXCEEDED');
    expect(await codeOf(key, 'a')).toBe('INSUFFICIENT_PERMISSIONS');
  });

  test('a refusal costs nothing: no credit, no local limit, no strict one', async () => {
    const { key } = await service.createKey(limits);
    for (let i = 0; i < 10; i++) expect(await codeOf(key, 'a')).toBe('INSUFFICIENT_PERMISSIONS');
    const verdict = await service.verify(key);
    expect(verdict).toMatchObject({ valid: true, remaining: 4, ratelimit: { remaining: 4 } });
    expect(verdict.ratelimits.map(({ remaining }: { remaining: number }) => remaining)).toEqual([4, 4]);
  });

  test('a replay is not answered to a key that has lost its permission', async () => {
    const { key, keyId } = await service.createKey({ permissions: ['a'], remaining: 5 });
    const again = { idempotencyKey: 'same-request' };
    expect(await codeOf(key, 'a', again)).toBe('VALID');
    await service.ok('/v1/keys.setPermissions', { keyId, permissions: [] });
    expect(await codeOf(key, 'a', again)).toBe('INSUFFICIENT_PERMISSIONS');
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(4);
  });
});
