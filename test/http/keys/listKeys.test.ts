import { afterAll, beforeAll, describe, expect, test, beforeEach } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { reuseService } from '../../support/reusedService.ts';

describe('a search of keys', () => {
  let service: TestService;
  let apiId = '';
  const names = new Map<string, string>();

  beforeAll(async () => {
    service = await TestService.start();
    apiId = await service.createApi();
    const make = async (label: string, fields: Record<string, unknown>) => {
      service.clock.advance(1);
      names.set((await service.createKey({ apiId, ...fields })).keyId, label);
    };
    await make('acme', {
      name: 'ACME Production',
      prefix: 'live',
      meta: { plan: 'gold', contact: { mail: 'ann@acme.test' } },
    });
    await make('acme test', { name: 'Acme test-key', prefix: 'test' });
    await make('zoë', { name: 'Zoë’s schlüssel', meta: { tags: ['blau', 'grün'], seats: 42 } });
    await make('plain', { prefix: 'live' });
    await service.createKey({ name: 'acme elsewhere' });
  });

  afterAll(async () => {
    await service.close();
  });

  async function search(text: string): Promise<string[]> {
    const { keys, total } = await service.ok('/v1/apis.listKeys', { apiId, search: text });
    expect(total).toBe(keys.length);
    return (keys as { id: string }[]).map(({ id }) => names.get(id) ?? 'not of this api');
  }

  describe('search of apis.listKeys', () => {
    test.each([
      ['acme', ['acme', 'acme test']],
      ['ACME', ['acme', 'acme test']],
      ['acm', ['acme', 'acme test']],
      ['cme', []],
      ['acme prod', ['acme']],
      ['prod acme', ['acme']],
      ['acme nothing', []],
      ['gold', ['acme']],
      ['ann@acme.test', ['acme']],
      ['42', ['zoë']],
      ['grün', ['zoë']],
      ['SCHLÜSSEL', ['zoë']],
      ['live', ['acme', 'plain']],
      ['live_', ['acme', 'plain']],
      ['LIVE_', []],
      ['test', ['acme', 'acme test']],
      ['%', []],
      ['_', []],
      ["'; DROP TABLE keys; --", []],
      ['plan', []],
    ])('%p finds %p', async (text, found) => {
      expect(await search(text)).toEqual(found);
    });

    test('a key is found by the characters that are shown of it', async () => {
      const { keys } = await service.ok('/v1/apis.listKeys', { apiId });
      for (const { id, start } of keys as { id: string; start: string }[]) {
        expect(await search(start)).toEqual([names.get(id) ?? '']);
      }
    });

    test('goes with the filter by owner, and pages', async () => {
      for (let i = 0; i < 5; i++) {
        service.clock.advance(1);
        await service.createKey({ apiId, name: `robot ${i}`, externalId: i < 3 ? 'owner' : 'other' });
      }
      const ask = (more: object) =>
        service.ok('/v1/apis.listKeys', { apiId, search: 'robot', externalId: 'owner', ...more });
      expect((await ask({})).total).toBe(3);
      const first = await ask({ limit: 2 });
      expect([first.keys.length, first.total]).toEqual([2, 3]);
      const second = await ask({ limit: 2, cursor: first.cursor });
      expect([second.keys.map(({ name }: { name: string }) => name), second.cursor]).toEqual([['robot 2'], undefined]);
    });

    test('follows a change of name and metadata, a deletion and a restoration', async () => {
      const { keyId } = await service.createKey({ apiId, name: 'first', meta: { a: 'alpha' } });
      names.set(keyId, 'changed');
      await service.ok('/v1/keys.updateKey', { keyId, name: 'second' });
      expect([await search('first'), await search('second'), await search('alpha')]).toEqual([
        [],
        ['changed'],
        ['changed'],
      ]);
      await service.ok('/v1/keys.updateKey', { keyId, meta: null });
      expect([await search('second'), await search('alpha')]).toEqual([['changed'], []]);
      await service.ok('/v1/keys.deleteKey', { keyId });
      expect(await search('second')).toEqual([]);
      await service.ok('/v1/keys.restoreKey', { keyId });
      expect(await search('second')).toEqual(['changed']);
      await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
      expect(await search('second')).toEqual([]);
    });
  });

  test('a key is found by its whole id, in its api, until it is deleted', async () => {
    const ownApiId = await service.createApi();
    const { keyId } = await service.createKey({ apiId: ownApiId, name: 'first' });
    const other = await service.createKey({ apiId: ownApiId, meta: { copyOf: keyId } });
    const found = async (asked: object) =>
      (
        (await service.ok('/v1/apis.listKeys', { apiId: ownApiId, search: keyId, ...asked })) as {
          keys: { id: string }[];
        }
      ).keys.map(({ id }) => id);
    expect(await found({})).toEqual([keyId]);
    expect(await found({ apiId: await service.createApi() })).toEqual([]);
    await service.ok('/v1/keys.deleteKey', { keyId });
    // Then only the words of others are left.
    expect(await found({})).toEqual([other.keyId]);
  });
});

describe('filters of keys', () => {
  let service: TestService;
  let apiId: string;

  const started = reuseService();
  beforeEach(async () => {
    service = started();
    apiId = await service.createApi();
  });

  const DAY_MS = 86_400_000;

  /** Ids that are made in the same millisecond have no order. */
  async function make(fields: Record<string, unknown>): Promise<{ keyId: string }> {
    service.clock.advance(1);
    return service.createKey({ apiId, ...fields });
  }

  async function list(fields: object): Promise<{ names: unknown[]; total: unknown; cursor: unknown }> {
    const { keys, total, cursor } = await service.ok('/v1/apis.listKeys', { apiId, ...fields });
    return { names: (keys as { name: string }[]).map(({ name }) => name), total, cursor };
  }

  test('keys are listed by their state, as it is at this moment, and without a total', async () => {
    await make({ name: 'plain' });
    await make({ name: 'off', enabled: false });
    await make({ name: 'ending', expires: service.clock.nowMs() + DAY_MS });
    await make({ name: 'off and ending', enabled: false, expires: service.clock.nowMs() + DAY_MS });
    expect(await list({ state: 'active' })).toEqual({
      names: ['plain', 'ending'],
      total: undefined,
      cursor: undefined,
    });
    expect((await list({ state: 'disabled' })).names).toEqual(['off', 'off and ending']);
    expect((await list({ state: 'expired' })).names).toEqual([]);
    service.clock.advance(DAY_MS);
    expect((await list({ state: 'active' })).names).toEqual(['plain']);
    expect((await list({ state: 'expired' })).names).toEqual(['ending']);
    expect((await list({})).total).toBe(4);
  });

  test('keys are listed by the plan that they follow, page by page', async () => {
    const { planId } = await service.ok('/v1/plans.createPlan', { name: 'pro' });
    await make({ name: 'first', externalId: 'user-1' });
    await make({ name: 'second', externalId: 'user-2' });
    const { keyId } = await make({ name: 'own' });
    await service.ok('/v1/plans.assign', { externalId: 'user-1', planId });
    await service.ok('/v1/plans.assign', { keyId, planId });
    const page = await list({ planId, limit: 1 });
    expect(page.names).toEqual(['first']);
    expect(await list({ planId, limit: 1, cursor: page.cursor })).toEqual({
      names: ['own'],
      total: undefined,
      cursor: undefined,
    });
    await service.ok('/v1/plans.assign', { externalId: 'user-2', planId });
    expect((await list({ planId })).names).toEqual(['first', 'second', 'own']);
    expect((await list({ planId: 'plan_unknown' })).names).toEqual([]);
  });

  test('a state that does not exist is refused in words', async () => {
    const { status, body } = await service.call('/v1/apis.listKeys', { apiId, state: 'deleted' });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('state');
  });
});
