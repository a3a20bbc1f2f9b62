import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { accessCalls, KINDS, namesOf } from '../rootKeys/rightsCalls.ts';
import { entriesAbout } from '../audit/entries.ts';
import { storedIn } from '../errors/stored.ts';

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
