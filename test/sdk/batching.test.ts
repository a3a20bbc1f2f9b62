import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { Keystile, type Verdict } from '../../sdk/src/index.ts';
import { TestService } from '../support/service.ts';
import { answer, error, ScriptedServer } from './scriptedServer.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.close());

/** A client of the service in this process, and the paths that it calls. */
function client(options: { batch?: boolean } = {}): { keystile: Keystile; calls: string[] } {
  const calls: string[] = [];
  const keystile = new Keystile({
    ...options,
    url: 'https://keystile.test',
    rootKey: service.rootKey,
    fetch: async (url, { body }) => {
      const path = new URL(url).pathname;
      calls.push(path);
      const { status, text, headers } = await service.call(path, undefined, { raw: body as string });
      return new Response(text, { status, headers });
    },
  });
  return { keystile, calls };
}

const codes = (verdicts: readonly Verdict[]): string[] => verdicts.map(({ code }) => code);

describe('verifications of one turn', () => {
  test('share one call, each with its own verdict', async () => {
    const { key } = await service.createKey({ remaining: 2 });
    const { keystile, calls } = client();
    const verdicts = await Promise.all([key, 'unknown', key, key].map((each) => keystile.verify(each)));
    expect(codes(verdicts).sort()).toEqual(['NOT_FOUND', 'USAGE_EXCEEDED', 'VALID', 'VALID']);
    expect(verdicts[1]?.code).toBe('NOT_FOUND');
    expect(calls).toEqual(['/v1/keys.verifyKeys']);
  });

  test('one alone is a call of its own', async () => {
    const { key } = await service.createKey();
    const { keystile, calls } = client();
    expect((await keystile.verify(key)).code).toBe('VALID');
    expect(calls).toEqual(['/v1/keys.verifyKey']);
  });

  test('are shared also when they come from different callbacks of the turn', async () => {
    const { key } = await service.createKey();
    const { keystile, calls } = client();
    const verdicts = await Promise.all(
      [0, 1, 2].map((_, i) => Promise.resolve(i).then(async () => keystile.verify(key))),
    );
    expect(codes(verdicts)).toEqual(['VALID', 'VALID', 'VALID']);
    expect(calls).toEqual(['/v1/keys.verifyKeys']);
  });

  test('go in calls of at most 100', async () => {
    const { key } = await service.createKey({ remaining: 1_000 });
    const { keystile, calls } = client();
    const verdicts = await Promise.all(Array.from({ length: 250 }, () => keystile.verify(key)));
    expect(new Set(codes(verdicts))).toEqual(new Set(['VALID']));
    expect(calls).toEqual(['/v1/keys.verifyKeys', '/v1/keys.verifyKeys', '/v1/keys.verifyKeys']);
    expect((await keystile.verify(key, { cost: 0 })) as object).toMatchObject({ remaining: 750 });
  });

  test('with batch: false each is a call of its own', async () => {
    const { key } = await service.createKey();
    const { keystile, calls } = client({ batch: false });
    await Promise.all([keystile.verify(key), keystile.verify(key)]);
    expect(calls).toEqual(['/v1/keys.verifyKey', '/v1/keys.verifyKey']);
  });

  test('one that the service cannot read fails alone', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const { keystile } = client();
    const verdicts = await Promise.all([
      keystile.verify(key),
      keystile.verify(key, { cost: -1 }),
      keystile.verify(key),
    ]);
    expect(codes(verdicts)).toEqual(['VALID', 'UNAVAILABLE', 'VALID']);
    expect((await keystile.verify(key, { cost: 0 })) as object).toMatchObject({ remaining: 3 });
  });

  test('one that is too long goes alone', async () => {
    const { key } = await service.createKey();
    const { keystile, calls } = client();
    const tags = Array.from({ length: 10 }, (_, i) => String(i).repeat(128));
    const permissions = { or: Array.from({ length: 20 }, (_, i) => `permission.${i}.${'x'.repeat(100)}`) };
    const verdicts = await Promise.all([
      keystile.verify(key),
      keystile.verify(key, { tags, permissions }),
      keystile.verify(key),
    ]);
    expect(codes(verdicts)).toEqual(['VALID', 'INSUFFICIENT_PERMISSIONS', 'VALID']);
    expect(calls.sort()).toEqual(['/v1/keys.verifyKey', '/v1/keys.verifyKeys']);
  });

  test('texts that cannot be keys are not sent', async () => {
    const { keystile, calls } = client();
    const verdicts = await Promise.all(['', 'ü', '\u0000', 'x'.repeat(513)].map((text) => keystile.verify(text)));
    expect(new Set(codes(verdicts))).toEqual(new Set(['NOT_FOUND']));
    expect(calls).toEqual([]);
  });
});

describe('when a shared call fails', () => {
  const valid = { valid: true, code: 'VALID', requestId: 'req_1', keyId: 'key_1', meta: {} };

  test('and its outcome is unknown, idempotent verifications of the same turn are tried again: they share another call', async () => {
    await using server = await ScriptedServer.start('cut', 'cut', answer(200, { results: [valid, valid] }));
    const keystile = new Keystile({ url: server.url });
    const once = ['a', 'b'].map((key) => keystile.verify(key));
    const repeatable = ['c', 'd'].map((key) => keystile.verify(key, { idempotent: true }));
    expect(codes(await Promise.all(once))).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    expect(codes(await Promise.all(repeatable))).toEqual(['VALID', 'VALID']);
    expect(server.received.length).toBe(3);
  });

  test('because the service is overloaded, it is not asked once for each instead', async () => {
    await using server = await ScriptedServer.start(error(503, 'UNAVAILABLE'));
    const keystile = new Keystile({ url: server.url, retries: 1 });
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => keystile.verify('a')));
    expect(new Set(codes(verdicts))).toEqual(new Set(['UNAVAILABLE']));
    expect(server.received.length).toBe(2);
  });

  test('for one verification because it is refused as such, `allow` does not let it pass', async () => {
    const { key } = await service.createKey();
    const keystile = new Keystile({
      url: 'https://keystile.test',
      onUnavailable: 'allow',
      fetch: async (url, { body }) =>
        new Response((await service.call(new URL(url).pathname, undefined, { raw: body as string })).text),
    });
    const verdicts = await Promise.all([
      keystile.verify(key),
      keystile.verify(key, { ratelimits: [{ name: 'nowhere' }] }),
    ]);
    expect(verdicts.map(({ valid: passes, code }) => [passes, code])).toEqual([
      [true, 'VALID'],
      [false, 'UNAVAILABLE'],
    ]);
  });

  test('for one verification only, the others keep their verdicts', async () => {
    const failed = { error: { code: 'OUTCOME_UNKNOWN', message: 'It is.', docs: '/', requestId: 'req_2' } };
    await using server = await ScriptedServer.start(answer(200, { results: [valid, failed] }));
    const keystile = new Keystile({ url: server.url, retries: 0 });
    const verdicts = await Promise.all([keystile.verify('a'), keystile.verify('b')]);
    expect(codes(verdicts)).toEqual(['VALID', 'UNAVAILABLE']);
    expect(server.received.length).toBe(1);
  });

  test('with fewer verdicts than verifications, none of them is guessed', async () => {
    await using server = await ScriptedServer.start(answer(200, { results: [valid] }));
    const keystile = new Keystile({ url: server.url, retries: 0 });
    expect(codes(await Promise.all([keystile.verify('a'), keystile.verify('b')]))).toEqual([
      'UNAVAILABLE',
      'UNAVAILABLE',
    ]);
  });
});

test('onVerdict sees every verdict, without the key, and cannot harm it', async () => {
  const { key } = await service.createKey();
  const events: unknown[] = [];
  const keystile = new Keystile({
    url: 'https://keystile.test',
    fetch: async (url, { body }) =>
      new Response((await service.call(new URL(url).pathname, undefined, { raw: body as string })).text),
    onVerdict: ({ verdict, request }) => {
      events.push([verdict.code, request]);
      throw new Error('the log is full');
    },
  });
  expect((await keystile.verify(key, { tags: ['a'] })).code).toBe('VALID');
  expect(events).toEqual([['VALID', { tags: ['a'] }]]);
});

test('an onVerdict that fails later harms nothing', async () => {
  await using server = await ScriptedServer.start(
    answer(200, { valid: false, code: 'EXPIRED', requestId: 'r', meta: {} }),
  );
  const keystile = new Keystile({ url: server.url, onVerdict: () => Promise.reject(new Error('the log is full')) });
  expect((await keystile.verify('k')).code).toBe('EXPIRED');
});

test('a list goes through all pages', async () => {
  const { keystile, calls } = client();
  const { apiId } = await keystile.apis.create({ name: 'many keys' });
  for (let i = 0; i < 5; i++) await keystile.keys.create({ apiId, name: `key ${i}` });
  calls.length = 0;
  const names = [];
  for await (const { name } of keystile.apis.listKeys({ apiId, limit: 2 })) names.push(name);
  expect(names.toSorted((a = '', b = '') => a.localeCompare(b))).toEqual(['key 0', 'key 1', 'key 2', 'key 3', 'key 4']);
  expect(calls.length).toBe(3);
});

test('a list whose caller stops early asks for no further page', async () => {
  const { keystile, calls } = client();
  const { apiId } = await keystile.apis.create({ name: 'many keys' });
  for (let i = 0; i < 3; i++) await keystile.keys.create({ apiId });
  calls.length = 0;
  for await (const { id } of keystile.apis.listKeys({ apiId, limit: 1 })) if (id !== '') break;
  expect(calls.length).toBe(1);
});
