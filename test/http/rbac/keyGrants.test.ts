import { beforeEach, describe, expect, test, afterAll, beforeAll, afterEach, spyOn } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { storedIn } from '../errors/stored.ts';
import { refusedBy, rootKeyWith } from '../errors/refusal.ts';
import { MAX_EFFECTIVE_PERMISSIONS } from '../../../src/core/bounds.ts';
import { permission, role } from '../../postgres/conformance/samples.ts';
import { tablesOf } from '../imports/imported.ts';

type How = 'add' | 'set' | 'remove';

/** Permissions and roles are given to keys in the same way. */
const KINDS = [
  { field: 'permissions', word: 'Permissions', one: 'permission', max: 1_000 },
  { field: 'roles', word: 'Roles', one: 'role', max: 100 },
] as const;

/** The calls that give permissions or roles to keys. */
function accessCalls(service: () => TestService, { field, word, one }: (typeof KINDS)[number]) {
  const pathTo = (how: How): string => `/v1/keys.${how}${word}`;
  return {
    pathTo,
    call: (how: How, keyId: string, references: readonly object[], options = {}) =>
      service().ok(pathTo(how), { keyId, [field]: references }, options),
    make: async (name: string): Promise<string> =>
      (await service().ok(`/v1/permissions.create${word.slice(0, -1)}`, { name }))[`${one}Id`] as string,
    heldBy: async (keyId: string): Promise<string[]> =>
      (await service().ok('/v1/keys.getKey', { keyId }))[field] as string[],
  };
}

function namesOf(records: readonly { name: string }[]): string[] {
  return records.map(({ name }) => name);
}

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

describe.each(KINDS)('$field of keys', (kind) => {
  const { field, word, one } = kind;
  const { call, make, heldBy } = accessCalls(() => service, kind);

  test('add gives more and answers all, by id and by name, in the order of the names', async () => {
    const [a, b, c] = [await make('a'), await make('b'), await make('c')];
    const { keyId, key } = await service.createKey();
    expect(await call('add', keyId, [{ id: c }])).toEqual([{ id: c, name: 'c' }]);
    const all = [
      { id: a, name: 'a' },
      { id: b, name: 'b' },
      { id: c, name: 'c' },
    ];
    expect(await call('add', keyId, [{ name: 'b' }, { id: a }, { name: 'a' }])).toEqual(all);
    expect(await call('add', keyId, [])).toEqual(all);
    expect(await call('add', keyId, [{ id: a }])).toEqual(all);
    expect(await heldBy(keyId)).toEqual(['a', 'b', 'c']);
    expect((await service.verify(key))[field]).toEqual(['a', 'b', 'c']);
    await service.restart();
    expect(await heldBy(keyId)).toEqual(['a', 'b', 'c']);
  });

  test('set replaces all and answers them; an empty list takes all away', async () => {
    const [a, b] = [await make('a'), await make('b')];
    const { keyId } = await service.createKey({ [field]: ['a'] });
    expect(await call('set', keyId, [{ id: b }])).toEqual([{ id: b, name: 'b' }]);
    expect(await heldBy(keyId)).toEqual(['b']);
    expect(await call('set', keyId, [{ name: 'b' }, { id: a }])).toHaveLength(2);
    expect(await call('set', keyId, [])).toEqual([]);
    expect(await heldBy(keyId)).toEqual([]);
  });

  test('remove takes away what the key has, passes over what it has not, and answers {}', async () => {
    const [a] = [await make('a'), await make('b'), await make('c')];
    const { keyId } = await service.createKey({ [field]: ['a', 'b'] });
    expect(await call('remove', keyId, [{ id: a }, { name: 'c' }])).toEqual({});
    expect(await heldBy(keyId)).toEqual(['b']);
    expect(await call('remove', keyId, [])).toEqual({});
    expect(await heldBy(keyId)).toEqual(['b']);
  });

  test('what is asked for is seen by the very next verification of a key that is known already', async () => {
    await make('a');
    const { keyId, key } = await service.createKey({ remaining: 100, ratelimit: { limit: 50, duration: 60_000 } });
    const shown = async () => (await service.verify(key))[field] ?? [];
    expect(await shown()).toEqual([]);
    await call('add', keyId, [{ name: 'a' }]);
    expect(await shown()).toEqual(['a']);
    await call('remove', keyId, [{ name: 'a' }]);
    expect(await shown()).toEqual([]);
    await call('set', keyId, [{ name: 'a' }]);
    expect(await shown()).toEqual(['a']);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 95, ratelimit: { remaining: 45 } });
  });

  test('a former secret that is still valid sees it, too', async () => {
    await make('a');
    const { keyId, key } = await service.createKey();
    const fresh = (await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 })).key as string;
    for (const secret of [key, fresh]) expect((await service.verify(secret)).valid).toBe(true);
    await call('add', keyId, [{ name: 'a' }]);
    for (const secret of [key, fresh]) expect((await service.verify(secret))[field]).toEqual(['a']);
  });

  test('counters go on: credits, strict windows and the refill of a key stay as they are', async () => {
    for (const name of ['a', 'b']) await make(name);
    const { keyId, key } = await service.createKey({
      remaining: 10,
      refill: { interval: 'daily', amount: 10 },
      ratelimit: { async: false, limit: 5, duration: 3_600_000 },
    });
    await service.verify(key, { remaining: { cost: 4 } });
    await call('add', keyId, [{ name: 'a' }]);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 5, ratelimit: { remaining: 3 } });
    // A verification would say again when the refill is due.
    await call('add', keyId, [{ name: 'b' }]);
    service.clock.advance(12 * 3_600_000);
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(10);
    await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
  });

  test('only the key says when it was changed: updatedAt', async () => {
    await make('a');
    const { keyId } = await service.createKey({ name: 'n' });
    const before = await service.ok('/v1/keys.getKey', { keyId });
    service.clock.advance(5);
    await call('add', keyId, [{ name: 'a' }]);
    const after = await service.ok('/v1/keys.getKey', { keyId });
    const direct = field === 'permissions' ? { directPermissions: ['a'] } : {};
    expect(after).toEqual({ ...before, ...direct, [field]: ['a'], updatedAt: service.clock.nowMs() });
  });

  test('100 adds at the same time: every one is answered, and none is lost', async () => {
    const { keyId, key } = await service.createKey({ remaining: 1_000 });
    const names = Array.from({ length: 100 }, (_, i) => `n${String(i).padStart(3, '0')}`);
    const answers = await Promise.all(names.map((name) => call('add', keyId, [{ name, create: true }])));
    for (const [i, name] of names.entries()) expect(namesOf(answers[i])).toContain(name);
    expect(await heldBy(keyId)).toEqual(names);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 999, [field]: names });
  });

  test('adds, removes and updates of one key at the same time leave each other alone', async () => {
    const kept = Array.from({ length: 20 }, (_, i) => `kept${i}`);
    const gone = Array.from({ length: 20 }, (_, i) => `gone${i}`);
    const { keyId } = await service.createKey({ [field]: gone, remaining: 10 });
    await Promise.all([
      ...kept.map((name) => call('add', keyId, [{ name, create: true }])),
      ...gone.map((name) => call('remove', keyId, [{ name }])),
      service.ok('/v1/keys.updateKey', { keyId, name: 'changed' }),
      service.ok('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 5 }),
    ]);
    expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({
      [field]: kept.toSorted(),
      name: 'changed',
      remaining: 15,
    });
  });

  test('one name made by many at the same time is made once', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => service.createKey()));
    const answers = await Promise.all(keys.map(({ keyId }) => call('add', keyId, [{ name: 'one', create: true }])));
    expect(new Set(answers.map((answer) => answer[0].id)).size).toBe(1);
  });

  test('ids of what was deleted are not written again', async () => {
    const [a, b] = [await make('a'), await make('b')];
    const { keyId } = await service.createKey({ [field]: ['a', 'b'] });
    await service.ok(`/v1/permissions.delete${word.slice(0, -1)}`, { [`${one}Id`]: a });
    const c = await make('c');
    expect(namesOf(await call('add', keyId, [{ name: 'c' }]))).toEqual(['b', 'c']);
    const stored = storedIn(service.folder)['keys'] as Record<string, string>[];
    expect(JSON.parse(stored.find(({ id }) => id === keyId)?.[field] ?? '')).toEqual([b, c]);
  });

  test('the audit log tells what the key had and has, by id and name; what changed nothing is not told', async () => {
    const a = await make('a');
    const { keyId } = await service.createKey();
    const [, b] = await call('add', keyId, [{ id: a }, { name: 'b', create: true }]);
    await call('add', keyId, [{ id: a }]);
    await call('remove', keyId, [{ id: a }]);
    await call('remove', keyId, [{ id: a }]);
    await call('set', keyId, [{ id: a }]);
    await call('set', keyId, [{ id: a }]);
    const told = (await entriesAbout(service, keyId)).filter(({ action }) => action !== 'key.create');
    const named = { id: a, name: 'a' };
    expect(told).toEqual([
      { action: `key.add${word}`, before: { [field]: [] }, after: { [field]: [named, b] } },
      { action: `key.remove${word}`, before: { [field]: [named, b] }, after: { [field]: [b] } },
      { action: `key.set${word}`, before: { [field]: [b] }, after: { [field]: [named] } },
    ]);
    expect((await entriesAbout(service, b.id)).map(({ action }) => action)).toEqual([`${one}.create`]);
  });
});

test('permissions are also found by slug, and a slug goes before a name', async () => {
  const make = async (name: string, slug: string) =>
    (await service.ok('/v1/permissions.createPermission', { name, slug })).permissionId as string;
  const [read, write] = [await make('Read', 'd.read'), await make('Write', 'd.write')];
  const { keyId, key } = await service.createKey({ permissions: ['d.write'] });
  const add = (...permissions: object[]) => service.ok('/v1/keys.addPermissions', { keyId, permissions });
  expect(await add({ slug: 'd.read' })).toEqual([
    { id: read, name: 'Read' },
    { id: write, name: 'Write' },
  ]);
  expect((await service.verify(key)).permissions).toEqual(['d.read', 'd.write']);
  await service.ok('/v1/keys.removePermissions', { keyId, permissions: [{ slug: 'd.write' }] });
  expect(await add({ name: 'Read', slug: 'd.write' })).toHaveLength(2);
  const [made] = await service.ok('/v1/keys.setPermissions', {
    keyId,
    permissions: [{ name: 'Delete', slug: 'd.delete', create: true }],
  });
  expect(await service.ok('/v1/permissions.getPermission', { permissionId: made.id })).toEqual({
    id: made.id,
    name: 'Delete',
    slug: 'd.delete',
  });
  const wrong = { keyId, permissions: [{ slug: 'Read' }] };
  expect((await service.call('/v1/keys.addPermissions', wrong)).status).toBe(404);
});

test('permissions through roles are shown by verification, and are not the keys own to take away', async () => {
  const { roleId } = await service.ok('/v1/permissions.createRole', { name: 'editor' });
  await service.ok('/v1/permissions.setRolePermissions', { roleId, permissions: [{ name: 'd.read', create: true }] });
  const { key, keyId } = await service.createKey({ roles: ['editor'] });
  expect(await service.ok('/v1/keys.setPermissions', { keyId, permissions: [] })).toEqual([]);
  await service.ok('/v1/keys.removePermissions', { keyId, permissions: [{ name: 'd.read' }] });
  expect(await service.verify(key)).toMatchObject({ roles: ['editor'], permissions: ['d.read'] });
});

const ABSENT_KEY = 'key_1Jm8ZtYh4mRr6GjK8uTx3S';

describe.each(KINDS)('$field of keys: refused, with nothing changed', (kind) => {
  const { field, one, max } = kind;
  const { pathTo, call, make } = accessCalls(() => service, kind);

  test.each(['add', 'set', 'remove'] as const)('%s for a key that does not exist, or is deleted', async (how) => {
    await make('a');
    const { keyId } = await service.createKey();
    await service.ok('/v1/keys.deleteKey', { keyId });
    for (const asked of [ABSENT_KEY, keyId]) {
      expect(await refusedBy(service, pathTo(how), { keyId: asked, [field]: [{ name: 'a' }] })).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        message: `There is no key "${asked}", or this root key may not see it.`,
      });
    }
  });

  test.each(['add', 'set', 'remove'] as const)('%s of what does not exist', async (how) => {
    await make('a');
    const { keyId } = await service.createKey({ [field]: ['a'] });
    const hint = how === 'remove' ? '' : ' Send create: true with its name to create it.';
    const ask = async (references: object[]) => {
      const { status, message } = await refusedBy(service, pathTo(how), { keyId, [field]: references });
      return [status, message];
    };
    expect(await ask([{ name: 'a' }, { name: 'none' }])).toEqual([404, `There is no ${one} "none".${hint}`]);
    expect(await ask([{ id: 'gone' }])).toEqual([404, `There is no ${one} "gone".`]);
  });

  test.each(['add', 'set', 'remove'] as const)('%s with references that name nothing, all told', async (how) => {
    const { keyId } = await service.createKey();
    const answer = await refusedBy(service, pathTo(how), { keyId, [field]: [{}, { name: 'a' }, {}] });
    expect([answer.status, answer.issues]).toEqual([
      400,
      [0, 2].map((i) => ({ path: `${field}[${i}]`, message: `${field}[${i}] needs an id or a name` })),
    ]);
  });

  test.each(['add', 'set', 'remove'] as const)('%s of one more than can be named at once', async (how) => {
    const { keyId } = await service.createKey();
    const references = Array.from({ length: max + 1 }, (_, i) => ({ id: `x${i}` }));
    const answer = await refusedBy(service, pathTo(how), { keyId, [field]: references });
    expect([answer.status, answer.code]).toEqual([400, 'BAD_REQUEST']);
  });

  test.each([
    ['no list', {}],
    ['null', { [field]: null }],
    ['a list of names', { [field]: ['a'] }],
    ['an empty name', { [field]: [{ name: '' }] }],
    ['a name of 513 characters', { [field]: [{ name: 'n'.repeat(513) }] }],
    ['an unknown field', { [field]: [{ name: 'a', creat: true }] }],
  ])('%s', async (_what, fields) => {
    const { keyId } = await service.createKey();
    for (const how of ['add', 'set', 'remove'] as const) {
      const answer = await refusedBy(service, pathTo(how), { keyId, ...fields });
      expect([answer.status, answer.code]).toEqual([400, 'BAD_REQUEST']);
    }
  });

  test('to make something while taking away', async () => {
    const { keyId } = await service.createKey();
    const answer = await refusedBy(service, pathTo('remove'), { keyId, [field]: [{ name: 'a', create: true }] });
    expect(answer.message).toContain('unknown field');
  });

  test(`a key with more than ${max}`, async () => {
    const { keyId } = await service.createKey();
    const names = Array.from({ length: max }, (_, i) => ({ name: `n${i}`, create: true }));
    await call('add', keyId, names);
    expect(await refusedBy(service, pathTo('add'), { keyId, [field]: [{ name: 'more', create: true }] })).toEqual({
      status: 412,
      code: 'PRECONDITION_FAILED',
      message: `A key can have at most ${max} ${field}; this would make it ${max + 1}.`,
    });
    expect(await call('add', keyId, names.slice(0, 3))).toHaveLength(max);
  });
});

describe.each(KINDS)('rights that $field of keys need', (kind) => {
  const { field, one } = kind;
  const { pathTo, call, make } = accessCalls(() => service, kind);
  const NEEDED: Readonly<Record<How, readonly string[]>> = {
    add: [`rbac.*.add_${one}_to_key`],
    set: [`rbac.*.add_${one}_to_key`, `rbac.*.remove_${one}_from_key`],
    remove: [`rbac.*.remove_${one}_from_key`],
  };
  const others = ['api.*.update_key', 'rbac.*.create_permission', 'rbac.*.create_role', 'rbac.*.read_role'];
  const onKeys = 'api.*.update_key';

  test.each(['add', 'set', 'remove'] as const)('%s needs them all, on all keys, and no others', async (how) => {
    await make('a');
    const { keyId } = await service.createKey();
    for (const lacking of NEEDED[how]) {
      const rest = NEEDED.set.filter((right) => right !== lacking);
      const rootKey = await rootKeyWith(service, ...others, ...rest);
      for (const asked of [keyId, ABSENT_KEY]) {
        expect(await refusedBy(service, pathTo(how), { keyId: asked, [field]: [{ name: 'a' }] }, { rootKey })).toEqual({
          status: 403,
          code: 'INSUFFICIENT_PERMISSIONS',
          message: `This root key lacks the right ${lacking}.`,
        });
      }
    }
    const rootKey = await rootKeyWith(service, onKeys, ...NEEDED[how]);
    await call(how, keyId, [{ name: 'a' }], { rootKey });
  });

  test.each(['add', 'set', 'remove'] as const)(
    '%s of a key in an api that the root key has no right on: 404',
    async (how) => {
      await make('a');
      const [mine, other] = [await service.createKey(), await service.createKey({ [field]: ['a'] })];
      const rootKey = await rootKeyWith(service, `api.${mine.apiId}.update_key`, ...NEEDED[how]);
      await call(how, mine.keyId, [{ name: 'a' }], { rootKey });
      const asked = { keyId: other.keyId, [field]: [{ name: 'a' }] };
      expect(await refusedBy(service, pathTo(how), asked, { rootKey })).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        message: `There is no key "${other.keyId}", or this root key may not see it.`,
      });
    },
  );

  test.each(['add', 'set'] as const)('%s that makes something needs the right to make it', async (how) => {
    const { keyId } = await service.createKey();
    const references = [{ name: 'new', create: true }];
    const rootKey = await rootKeyWith(service, onKeys, ...NEEDED[how]);
    expect(await refusedBy(service, pathTo(how), { keyId, [field]: references }, { rootKey })).toEqual({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
      message: `This root key lacks the right rbac.*.create_${one}.`,
    });
    const able = await rootKeyWith(service, onKeys, ...NEEDED[how], `rbac.*.create_${one}`);
    expect(namesOf(await call(how, keyId, references, { rootKey: able }))).toEqual(['new']);
    expect(namesOf(await call(how, keyId, references, { rootKey }))).toEqual(['new']);
  });
});

describe('the permissions of a key, its own and those of its roles', () => {
  let filled: TestService;

  let apiId = '';

  const names = (from: number, until: number): string[] =>
    Array.from({ length: until - from }, (_, i) => `p${String(from + i).padStart(4, '0')}`);
  const idsOf = (some: readonly string[]): string[] => some.map((name) => `id of ${name}`);

  /** Roles with 1,000 permissions each: `a` and `b` are 2,000 together, `c` is half of each, `d` is one more. */
  beforeAll(async () => {
    filled = await TestService.start();
    apiId = await filled.createApi();
    const roles = { a: names(0, 1000), b: names(1000, 2000), c: names(500, 1500), d: names(2000, 2001) };
    await filled.storage.ledger.apply({
      writes: [
        ...names(0, 2001).map((name) => ({
          kind: 'insertPermission' as const,
          permission: permission(`id of ${name}`, name),
        })),
        ...Object.entries(roles).map(([name, held]) => ({
          kind: 'insertRole' as const,
          role: role(`role_${name}`, name, { permissionIds: idsOf(held) }),
        })),
      ],
      accounts: [],
    });
  });

  afterAll(async () => {
    await filled.close();
  });

  const byName = (...all: string[]) => all.map((name) => ({ name }));
  const heldBy = async (keyId: string): Promise<string[]> =>
    (await filled.ok('/v1/keys.getKey', { keyId })).permissions as string[];

  const tooMany = (count: number) => ({
    status: 412,
    code: 'PRECONDITION_FAILED',
    message: `A key can have at most 2000 permissions, its own and those of its roles together; this would make it ${count}.`,
  });

  test('are at most 2,000, each counted once', async () => {
    expect(MAX_EFFECTIVE_PERMISSIONS).toBe(2000);
    const { key, keyId } = await filled.createKey({ apiId, roles: ['a', 'b', 'c'], permissions: ['p0000', 'p1999'] });
    expect(await heldBy(keyId)).toHaveLength(2000);
    expect((await filled.verify(key)).permissions).toHaveLength(2000);
  });

  test.each([
    ['keys.addRoles', { roles: byName('d') }],
    ['keys.setRoles', { roles: byName('a', 'b', 'd') }],
    ['keys.addPermissions', { permissions: byName('p2000') }],
    ['keys.setPermissions', { permissions: byName('p2000') }],
    ['keys.addPermissions', { permissions: [{ name: 'new', create: true }] }],
    ['keys.updateKey', { roles: byName('a', 'b', 'd') }],
    ['keys.updateKey', { permissions: byName('p2000') }],
    ['keys.updateKey', { roles: byName('a', 'b'), permissions: [{ name: 'new', create: true }] }],
  ])('%s refuses one more: %j', async (path, fields) => {
    const { keyId } = await filled.createKey({ apiId, roles: ['a', 'b'] });
    expect(await refusedBy(filled, `/v1/${path}`, { keyId, ...fields })).toEqual(tooMany(2001));
  });

  test.each([
    ['a role', { roles: ['a', 'b', 'd'] }],
    ['a permission', { roles: ['a', 'b'], permissions: ['p2000'] }],
    ['a permission that is made', { roles: ['a', 'b'], permissions: ['new'] }],
  ])('createKey refuses one more by %s', async (_name, fields) => {
    expect(await refusedBy(filled, '/v1/keys.createKey', { apiId, ...fields })).toEqual(tooMany(2001));
  });

  test('an import refuses one more, by its place, and counts each key for itself', async () => {
    const items = [['a', 'b'], ['a', 'b', 'd'], ['d']].map((roles, i) => ({
      apiId,
      plaintext: `imported-from-elsewhere-${i}`,
      roles,
    }));
    const before = tablesOf(filled);
    const { status, body } = await filled.call('/v1/migrations.createKeys', items);
    const { message } = tooMany(2001);
    expect([status, body.error.issues]).toEqual([412, [{ path: '[1]', message }]]);
    expect(tablesOf(filled)).toEqual(before);
    await filled.ok('/v1/migrations.createKeys', [items[0], items[2]]);
  });

  test('can become more when a role grows: the key verifies with all of them, is changed in other ways and loses roles', async () => {
    const { key, keyId } = await filled.createKey({ apiId, roles: ['a', 'b', 'grows', 'empty'] });
    await filled.ok('/v1/permissions.setRolePermissions', { name: 'grows', permissions: byName('p2000') });
    expect((await filled.verify(key)).permissions).toEqual(names(0, 2001));
    await filled.ok('/v1/keys.updateKey', { keyId, name: 'renamed' });
    await filled.ok('/v1/keys.removeRoles', { keyId, roles: byName('empty') });
    expect(await heldBy(keyId)).toHaveLength(2001);
    expect(await refusedBy(filled, '/v1/keys.addRoles', { keyId, roles: byName('c') })).toEqual(tooMany(2001));
    await filled.ok('/v1/keys.removeRoles', { keyId, roles: byName('b') });
    expect(await heldBy(keyId)).toHaveLength(1001);
  });

  test('that were deleted do not count', async () => {
    const { keyId } = await filled.createKey({ apiId, roles: ['a', 'b'], permissions: ['p0000'] });
    await filled.ok('/v1/permissions.deletePermission', { permissionId: 'id of p0000' });
    await filled.ok('/v1/keys.addRoles', { keyId, roles: byName('d') });
    expect(await heldBy(keyId)).toHaveLength(2000);
    const items = [{ apiId, plaintext: 'imported-from-elsewhere', roles: ['a', 'b', 'd'] }];
    await filled.ok('/v1/migrations.createKeys', items);
  });
});

describe('who names roles and permissions reads those, not all that there are', () => {
  let counted: TestService;

  let apiId = '';

  /** How often each read was asked for, and for how many at most. */
  let reads: Record<string, number> = {};
  let spies: { mockRestore(): void }[] = [];

  const READS = [
    'listPermissions',
    'listRoles',
    'findPermissions',
    'findRoles',
    'countPermissions',
    'countRoles',
  ] as const;

  beforeEach(async () => {
    counted = await TestService.start();
    apiId = await counted.createApi();
    await counted.storage.ledger.apply({
      writes: [
        ...Array.from({ length: 3000 }, (_, i) => ({
          kind: 'insertPermission' as const,
          permission: permission(`perm_${i}`, `p${i}`),
        })),
        { kind: 'insertRole', role: role('role_1', 'editor', { permissionIds: ['perm_1', 'perm_2'] }) },
        { kind: 'insertRole', role: role('role_2', 'reader', { permissionIds: ['perm_1'] }) },
      ],
      accounts: [],
    });
  });

  afterEach(async () => {
    for (const spy of spies) spy.mockRestore();
    await counted.close();
  });

  function watch(): void {
    const { records } = counted.storage;
    reads = {};
    spies = READS.map((name) => {
      const original = (records[name] as (argument: never) => Promise<unknown>).bind(records);
      return spyOn(records, name).mockImplementation((async (argument: never) => {
        reads[name] = (reads[name] ?? 0) + 1;
        return original(argument);
      }) as never);
    });
  }

  test.each([
    ['permissions.createPermission', { name: 'new' }, { findPermissions: 1, countPermissions: 1 }],
    ['permissions.createRole', { name: 'new' }, { findRoles: 1, countRoles: 1 }],
    ['permissions.getPermission', { permissionId: 'perm_7' }, { findPermissions: 1 }],
    ['permissions.getRole', { roleId: 'role_1' }, { findPermissions: 1, findRoles: 1 }],
    ['permissions.deletePermission', { permissionId: 'perm_7' }, { findPermissions: 1 }],
    ['permissions.deleteRole', { roleId: 'role_1' }, { findRoles: 1 }],
    [
      'permissions.setRolePermissions',
      { name: 'editor', permissions: [{ name: 'p7' }, { name: 'new', create: true }] },
      { findRoles: 1, findPermissions: 2, countPermissions: 1 },
    ],
  ])('%s %j', async (path, body, expected) => {
    watch();
    await counted.ok(`/v1/${path}`, body);
    expect(reads).toEqual(expected);
  });

  test('createKey reads them once, and counts only when something is made', async () => {
    watch();
    await counted.createKey({ apiId, roles: ['editor', 'reader'], permissions: ['p1', 'p2'] });
    expect(reads).toEqual({ findRoles: 1, findPermissions: 1 });
    await counted.createKey({ apiId, roles: ['made'], permissions: ['made'] });
    expect(reads).toEqual({ findRoles: 2, findPermissions: 2, countRoles: 1, countPermissions: 1 });
  });

  test('an import of 100 keys reads them once for all of its keys', async () => {
    const items = Array.from({ length: 100 }, (_, i) => ({
      apiId,
      plaintext: `imported-from-elsewhere-${i}`,
      roles: ['editor', 'reader'],
      permissions: [`p${i}`, `p${i + 1000}`],
    }));
    watch();
    const { keyIds } = await counted.ok('/v1/migrations.createKeys', items);
    expect(reads).toEqual({ findRoles: 1, findPermissions: 1 });
    const last = await counted.ok('/v1/keys.getKey', { keyId: keyIds[99] });
    expect(last).toMatchObject({ roles: ['editor', 'reader'], permissions: ['p1', 'p1099', 'p2', 'p99'] });
  });
});
