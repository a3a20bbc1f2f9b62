import { afterEach, expect, test } from 'bun:test';

import type { PermissionQuery } from '../../../../src/core/permissions.ts';
import { COMMAND_LINE } from '../../../../src/engine/admin/change/requireRight.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import type { OpenedStorage } from '../openAdapter.ts';
import { PostgresInDatabase } from '../postgres.ts';

async function makeKey(engine: Engine): Promise<{ keyId: string; secret: string }> {
  const api = await engine.apis.create(COMMAND_LINE, 'test api');
  return engine.keys.create(COMMAND_LINE, { apiId: api.id, prefix: null, byteLength: null, remaining: 100 });
}

async function codeOf(engine: Engine, secretDigest: string, permissions: PermissionQuery): Promise<string> {
  const verdict = await engine.verifier.verify({
    secretDigest,
    olderDigests: null,
    apiId: null,
    creditCost: 1,
    limits: null,
    permissions,
    tags: null,
    caller: { address: () => null },
    idempotency: null,
    mayVerify: null,
    reservation: null,
    isExplained: false,
  });
  return verdict.code;
}

const NAMES = Array.from({ length: 20 }, (_, i) => `p${String(i).padStart(2, '0')}`);

const add = (engine: Engine, keyId: string, name: string) =>
  engine.keyGrants.add(COMMAND_LINE, { kind: 'permissions', keyId, references: [{ name, create: true }] });

const namesHeld = async (engine: Engine, keyId: string): Promise<string[]> =>
  (await engine.keyGrants.add(COMMAND_LINE, { kind: 'permissions', keyId, references: [] })).map(({ name }) => name);

describePort('permissions and roles', (setup) => {
  test('adds at the same time lose nothing, and counters go on', async () => {
    const engine = engineOn(setup().storage);
    const { keyId, secret } = await makeKey(engine);
    await Promise.all(NAMES.map((name) => add(engine, keyId, name)));
    expect(await namesHeld(engine, keyId)).toEqual(NAMES);
    expect(await codeOf(engine, secret, { and: NAMES })).toBe('VALID');
    expect((await engine.keys.get(COMMAND_LINE, keyId)).remaining).toBe(99);
  });

  test('of one name made many times at the same moment one is made', async () => {
    const engine = engineOn(setup().storage);
    const fields = { name: 'one', slug: 'one', description: null };
    const made = await Promise.allSettled(NAMES.map(() => engine.permissions.createPermission(COMMAND_LINE, fields)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const codes = made.flatMap((each) => (each.status === 'rejected' ? (each.reason as { code: string }).code : []));
    expect(new Set(codes)).toEqual(new Set(['CONFLICT']));
  });

  test('what a role holds, and its end, are seen by the next verification', async () => {
    const engine = engineOn(setup().storage);
    const { keyId, secret } = await makeKey(engine);
    const id = await engine.permissions.createRole(COMMAND_LINE, { name: 'editor', description: null });
    await engine.keyGrants.set(COMMAND_LINE, { kind: 'roles', keyId, references: [{ id }] });
    expect(await codeOf(engine, secret, 'd.read')).toBe('INSUFFICIENT_PERMISSIONS');
    const references = [{ name: 'd.*', create: true }];
    await engine.permissions.setRolePermissions(COMMAND_LINE, { name: 'editor' }, references);
    expect(await codeOf(engine, secret, 'd.read')).toBe('VALID');
    await engine.permissions.deleteRole(COMMAND_LINE, id);
    expect(await codeOf(engine, secret, 'd.read')).toBe('INSUFFICIENT_PERMISSIONS');
  });
});

const opened: OpenedStorage[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close();
});

test('two nodes give one key permissions at the same time, and each sees what the other took away', async () => {
  const first = await PostgresInDatabase.start(new VirtualClock('2026-03-15T12:00:00Z'));
  opened.push(first);
  const second = await first.afterCrash();
  opened.push(second);
  const [one, two] = [engineOn(first.storage), engineOn(second.storage)];
  const { keyId, secret } = await makeKey(one);
  await Promise.all(NAMES.map((name, i) => add(i % 2 === 0 ? one : two, keyId, name)));
  for (const engine of [one, two]) {
    expect(await namesHeld(engine, keyId)).toEqual(NAMES);
    expect(await codeOf(engine, secret, { and: NAMES })).toBe('VALID');
  }
  const [gone] = await one.permissions.listPermissions(COMMAND_LINE);
  await one.permissions.deletePermission(COMMAND_LINE, gone?.id ?? '');
  expect(await codeOf(one, secret, 'p00')).toBe('INSUFFICIENT_PERMISSIONS');
  await second.storage.freshness.confirm();
  expect(await codeOf(two, secret, 'p00')).toBe('INSUFFICIENT_PERMISSIONS');
  expect(await codeOf(two, secret, 'p01')).toBe('VALID');
}, 60_000);
