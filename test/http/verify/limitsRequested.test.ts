import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });
/** 12:01 of the test's day. */
let noonOne = 0;
beforeEach(() => {
  service = started();
  noonOne = service.clock.nowMs() + 30_000;
});

const MODES = [
  ['local', true],
  ['strict', false],
] as const;

const ask = (key: string, ...ratelimits: object[]) => service.verify(key, { ratelimits });
const refused = async (key: string, ...ratelimits: object[]): Promise<[number, string]> => {
  const answer = await service.call('/v1/keys.verifyKey', { key, ratelimits }, { rootKey: null });
  return [answer.status, answer.body.error?.message as string];
};

test('an empty list asks for no limit: the verdict of a key without limits shows none', async () => {
  const { key } = await service.createKey();
  expect(await ask(key)).not.toHaveProperty('ratelimits');
  const { key: counted } = await service.createKey({ remaining: 1 });
  expect(await ask(counted)).not.toHaveProperty('ratelimits');
});

describe.each(MODES)('a configured %s limit in a request', (_mode, async) => {
  const configured = { ratelimits: [{ name: 'calls', limit: 5, duration: 60_000, async }] };

  test('its limit alone replaces that part, on the same count', async () => {
    const { key } = await service.createKey(configured);
    expect(await ask(key, { name: 'calls', cost: 3 })).toMatchObject({ ratelimits: [{ limit: 5, remaining: 2 }] });
    expect(await ask(key, { name: 'calls', limit: 3 })).toMatchObject({
      code: 'RATE_LIMITED',
      ratelimits: [{ limit: 3, remaining: 0, exceeded: true }],
    });
    expect(await ask(key, { name: 'calls', limit: 10 })).toMatchObject({ ratelimits: [{ limit: 10, remaining: 6 }] });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ limit: 5, remaining: 0 }] });
  });

  test('its duration alone replaces that part, on a count of its own', async () => {
    const { key } = await service.createKey(configured);
    expect(await ask(key, { name: 'calls', cost: 5 })).toMatchObject({ ratelimits: [{ remaining: 0 }] });
    expect(await ask(key, { name: 'calls', duration: 120_000 })).toMatchObject({
      code: 'VALID',
      ratelimits: [{ limit: 5, remaining: 4, async, reset: noonOne + 60_000 }],
    });
    expect(await service.verify(key)).toMatchObject({ code: 'RATE_LIMITED', ratelimits: [{ reset: noonOne }] });
  });

  test('limit and duration together make an ad-hoc one of the same mode', async () => {
    const { key } = await service.createKey({ ...configured, externalId: 'user_1' });
    expect(await ask(key, { name: 'calls', limit: 2, duration: 60_000, cost: 2 })).toMatchObject({
      ratelimits: [{ name: 'calls', limit: 2, remaining: 0, async }],
    });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ limit: 5, remaining: 4 }] });
  });

  test('its async may not be set by a request', async () => {
    const { key } = await service.createKey(configured);
    const message = 'The limit "calls" is configured, so a request cannot set its async. Leave async out.';
    expect(await refused(key, { name: 'calls', async })).toEqual([400, message]);
    expect(await refused(key, { name: 'calls', limit: 2, duration: 60_000, async })).toEqual([400, message]);
  });

  test('a limit not named in the request runs with a cost of 1', async () => {
    const { key } = await service.createKey({
      ratelimits: [...configured.ratelimits, { name: 'other', limit: 9, duration: 60_000, async }],
    });
    expect((await ask(key, { name: 'other', cost: 4 })).ratelimits).toMatchObject([
      { name: 'calls', remaining: 4 },
      { name: 'other', remaining: 5 },
    ]);
  });
});

describe.each(MODES)('an ad-hoc %s limit', (_mode, async) => {
  const burst = { name: 'burst', limit: 2, duration: 60_000, async };

  test('is made by its first use and refuses until its window rolls', async () => {
    const { key } = await service.createKey();
    expect(await ask(key, burst)).toMatchObject({
      code: 'VALID',
      ratelimits: [{ name: 'burst', limit: 2, remaining: 1, reset: noonOne, async, exceeded: false }],
    });
    expect(await ask(key, burst)).toMatchObject({ code: 'VALID' });
    expect(await ask(key, burst)).toMatchObject({ code: 'RATE_LIMITED', ratelimit: { remaining: 0, reset: noonOne } });
    await service.restart();
    expect(await ask(key, burst)).toMatchObject({ code: 'RATE_LIMITED' });
    service.clock.set(noonOne);
    expect(await ask(key, burst)).toMatchObject({ code: 'VALID', ratelimits: [{ remaining: 1 }] });
  });

  test('counts for the identity: two keys of one owner share it, a key without one is alone', async () => {
    const apiId = await service.createApi();
    const first = await service.createKey({ apiId, externalId: 'user_1' });
    const second = await service.createKey({ apiId, ownerId: 'user_1' });
    const other = await service.createKey({ apiId });
    expect((await ask(first.key, burst)).code).toBe('VALID');
    expect((await ask(second.key, burst)).code).toBe('VALID');
    expect((await ask(first.key, burst)).code).toBe('RATE_LIMITED');
    expect((await ask(second.key, burst)).code).toBe('RATE_LIMITED');
    expect((await ask(other.key, burst)).code).toBe('VALID');
  });

  test('1,000 parallel verifications under a limit of 50 by two keys of one owner: exactly 50 pass', async () => {
    const apiId = await service.createApi();
    const keys = [
      await service.createKey({ apiId, externalId: 'user_1' }),
      await service.createKey({ apiId, externalId: 'user_1' }),
    ];
    const verdicts = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => ask(keys[i % 2]?.key ?? '', { ...burst, limit: 50 })),
    );
    expect(verdicts.filter(({ valid }) => valid as boolean).length).toBe(50);
  });

  test('an owner has at most 100 live ones; when they have ended there is room again', async () => {
    const { key } = await service.createKey();
    const limits = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ ...burst, name: `n${from + i}` }));
    for (const from of [0, 50]) expect((await ask(key, ...limits(from, 50))).code).toBe('VALID');
    expect((await refused(key, ...limits(100, 1)))[0]).toBe(400);
    expect((await ask(key, ...limits(99, 1))).code).toBe('VALID');
    service.clock.set(noonOne);
    expect((await ask(key, ...limits(100, 1))).code).toBe('VALID');
  });

  test('150 new ones at the same time: 100 are made, 50 are refused', async () => {
    const { key } = await service.createKey();
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) =>
        service.call('/v1/keys.verifyKey', { key, ratelimits: [{ ...burst, name: `n${i}` }] }, { rootKey: null }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(100);
    expect(answers.filter(({ status }) => status === 400).length).toBe(50);
  });
});

test('an ad-hoc limit is local when nothing is said', async () => {
  const { key } = await service.createKey();
  expect(await ask(key, { name: 'x', limit: 1, duration: 1000 })).toMatchObject({ ratelimits: [{ async: true }] });
});

test.each([
  [
    'an unknown name',
    [{ name: 'nope' }],
    'Neither the key nor its customer has a limit named "nope". To use an ad-hoc limit, send limit and duration with it',
  ],
  [
    'an unknown name with a limit only',
    [{ name: 'nope', limit: 1 }],
    'Neither the key nor its customer has a limit named "nope"',
  ],
  [
    'the default of a key without one',
    [{ name: 'default' }],
    'The key has no ratelimit. To use an ad-hoc limit, send limit and duration',
  ],
  ['a name given twice', [{ name: 'a' }, { name: 'a' }], 'the limit "a" is named twice'],
])('%s is a 400 and takes nothing', async (_name, ratelimits, message) => {
  const { key, keyId } = await service.createKey({ remaining: 5 });
  const [status, text] = await refused(key, ...ratelimits);
  expect(status).toBe(400);
  expect(text).toStartWith(message);
  expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
});

test('the older form ratelimit.cost on a key without a limit is a 400', async () => {
  const { key } = await service.createKey();
  const answer = await service.call('/v1/keys.verifyKey', { key, ratelimit: { cost: 1 } }, { rootKey: null });
  expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST']);
});
