import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { accessCalls, type How, KINDS, namesOf } from '../rootKeys/rightsCalls.ts';
import { refusedBy, rootKeyWith } from '../errors/refusal.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
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
