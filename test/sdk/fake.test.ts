import { describe, expect, test, afterAll, beforeAll } from 'bun:test';

import * as fc from 'fast-check';

import * as sdk from '../../sdk/src/index.ts';
import { Keystile } from '../../sdk/src/index.ts';
import { FakeKeystile } from '../../sdk/src/testing/index.ts';
import cases from '../../clients/cases.json';
import { TestService } from '../support/service.ts';
import { timesAsMany } from '../support/runs.ts';
import { comparable, DAY, play, type Script, type Step } from './playScript.ts';
import { SCRIPTS } from './shownScripts.ts';

interface CaseStep {
  readonly [name: string]: unknown;
}
interface Cases {
  readonly cases: readonly { readonly name: string; readonly key: object; readonly steps: readonly CaseStep[] }[];
}
/** Runs in every runtime, so it is JavaScript. */
const runner = '../../sdk/test/runCases.mjs';
const { runCases } = (await import(runner)) as {
  runCases: (of: unknown, file: Cases, service: { url: string; rootKey: string }) => Promise<string[]>;
};

describe('the shared cases', () => {
  test('pass with the service', async () => {
    const service = await TestService.start();
    const connected = (options: sdk.KeystileOptions): sdk.Keystile =>
      new sdk.Keystile({
        ...options,
        fetch: async (url, { body }) => {
          const { status, text } = await service.call(new URL(url).pathname, undefined, { raw: body as string });
          return new Response(text, { status });
        },
      });
    const Keystile = function (options: sdk.KeystileOptions) {
      return connected(options);
    };
    expect(await runCases({ Keystile }, cases, { url: 'https://keystile.test', rootKey: service.rootKey })).toEqual([]);
    await service.close();
  });

  test('pass with the fake', async () => {
    const { keystile } = new FakeKeystile();
    const Keystile = function () {
      return keystile;
    };
    expect(await runCases({ Keystile }, cases, { url: 'http://fake', rootKey: 'root' })).toEqual([]);
  });
});

describe('the clock of the fake', () => {
  test('opens the next window of a limit', async () => {
    const fake = new FakeKeystile();
    const { key } = await fake.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
    expect((await fake.keystile.verify(key)).code).toBe('VALID');
    fake.advance(59_999);
    expect((await fake.keystile.verify(key)).code).toBe('RATE_LIMITED');
    fake.advance(1);
    expect((await fake.keystile.verify(key)).code).toBe('VALID');
  });

  test('refills at midnight, in the time zone of the refill', async () => {
    const fake = new FakeKeystile({ startsAt: '2026-01-01T22:59:59.999Z' });
    const refill = { interval: 'daily', amount: 3, timezone: 'Europe/Berlin' } as const;
    const { key } = await fake.createKey({ remaining: 1, refill });
    expect(await fake.keystile.verify(key)).toMatchObject({ valid: true, remaining: 0 });
    expect((await fake.keystile.verify(key)).code).toBe('USAGE_EXCEEDED');
    fake.advance(1);
    expect(await fake.keystile.verify(key)).toMatchObject({ valid: true, remaining: 2 });
  });

  test('expires keys', async () => {
    const fake = new FakeKeystile();
    const { key } = await fake.createKey({ expires: fake.nowMs + 1_000 });
    fake.advance(999);
    expect((await fake.keystile.verify(key)).code).toBe('VALID');
    fake.advance(1);
    expect((await fake.keystile.verify(key)).code).toBe('EXPIRED');
  });
});

test('an update changes what it names, and nothing else', async () => {
  const fake = new FakeKeystile();
  const limit = { limit: 1, duration: 60_000 };
  const { key, keyId } = await fake.createKey({
    externalId: 'ada',
    ratelimit: limit,
    ratelimits: [{ name: 'b', ...limit }],
  });
  await fake.keystile.keys.update({ keyId, externalId: null, ratelimit: { limit: 5, duration: 60_000 } });
  const verdict = await fake.keystile.verify(key);
  expect(verdict).not.toHaveProperty('ownerId');
  expect(verdict).toMatchObject({
    ratelimits: [
      { name: 'default', limit: 5 },
      { name: 'b', limit: 1 },
    ],
  });
});

test('a fake that cannot be reached answers like a service that cannot', async () => {
  const fake = new FakeKeystile({ onUnavailable: 'allow' });
  const { key } = await fake.createKey();
  fake.isReachable = false;
  const verdict = await fake.keystile.verify(key);
  expect([verdict.valid, verdict.code]).toEqual([true, 'UNAVAILABLE']);
});

test('a call that the fake does not have says so', async () => {
  const { keystile } = new FakeKeystile();
  const calling = keystile.audit.listEntries();
  const failure = await Array.fromAsync(calling).catch(String);
  expect(failure).toBe(
    'KeystileError: The fake service has no /v1/audit.listEntries. Use a real Keystile to test this call.',
  );
});

describe('the fake beside the service', () => {
  let service: TestService;
  let made = 0;

  beforeAll(async () => {
    service = await TestService.start({ startsAt: '2026-01-30T23:59:00Z' });
  });

  afterAll(() => service.close());

  function connected(): Keystile {
    return new Keystile({
      url: 'https://keystile.test',
      retries: 0,
      fetch: async (url, { body }) => {
        const { status, text } = await service.call(new URL(url).pathname, undefined, { raw: body as string });
        return new Response(text, { status });
      },
    });
  }

  /** Plays a script with the service and with the fake, from the same instant on. */
  async function both(script: Script): Promise<readonly [unknown[], unknown[]]> {
    const externalId = `owner_${++made}`;
    const named = JSON.parse(JSON.stringify(script).replaceAll('OWNER', externalId)) as Script;
    const fake = new FakeKeystile({ startsAt: new Date(service.clock.nowMs()) });
    const clock = {
      advance: (ms: number) => service.clock.advance(ms),
      settle: () => service.engine.memory.localLimits.sync(),
    };
    const real = await play(connected(), clock, named, externalId);
    const fakeClock = { advance: (ms: number) => fake.advance(ms), settle: async () => {} };
    return [real, await play(fake.keystile, fakeClock, named, externalId)];
  }

  const MINUTE = 60_000;
  describe('the fake answers as the service does', () => {
    test.each(SCRIPTS)('%s', async (_title, script) => {
      const [real, fake] = await both(script);
      expect(fake).toEqual(real);
    });

    test('whatever a program does with a key and its owner', async () => {
      const names = fc.constantFrom('a', 'b', 'default');
      const duration = fc.constantFrom(1_000, MINUTE);
      const few = fc.integer({ min: 1, max: 3 });
      const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
      const clearable = <T>(value: fc.Arbitrary<T>) => fc.option(fc.option(value, { nil: null }), { nil: undefined });
      const limits = fc.uniqueArray(
        fc.record({ name: fc.constantFrom('a', 'b'), limit: few, duration, async: fc.boolean() }),
        { selector: ({ name }) => name },
      );
      const shared = fc.uniqueArray(
        fc.record({ name: names, limit: few, duration, async: fc.boolean(), autoApply: maybe(fc.boolean()) }),
        { selector: ({ name }) => name },
      );
      const refill = fc.record({
        interval: fc.constantFrom('daily', 'monthly'),
        amount: few,
        mode: fc.constantFrom('restore', 'add'),
      });
      const alerts = fc.record({
        expiresWithinMs: clearable(fc.constant(MINUTE)),
        creditsBelow: clearable(fc.integer({ min: 1, max: 2 })),
      });
      const counters = {
        remaining: clearable(fc.nat(3)),
        metered: maybe(fc.boolean()),
        refill: clearable(refill),
        ratelimits: clearable(limits),
        alerts: clearable(alerts),
      };
      const ofIdentity = {
        enabled: maybe(fc.boolean()),
        name: clearable(fc.constant('Acme')),
        maxKeys: clearable(fc.nat(1)),
        ratelimits: clearable(shared),
      };
      const ends = fc.constantFrom('disable', 'delete', 'detach');
      const asked = fc.record({
        cost: maybe(fc.nat(2)),
        ratelimits: maybe(
          fc.uniqueArray(
            fc.record({ name: names, cost: maybe(fc.nat(2)), limit: maybe(few), duration: maybe(duration) }),
            { selector: ({ name }) => name, maxLength: 2 },
          ),
        ),
        idempotencyKey: maybe(fc.constantFrom('once-1234', 'once-5678')),
      });
      const step: fc.Arbitrary<Step> = fc.oneof(
        { weight: 6, arbitrary: fc.record({ verify: asked }) },
        { weight: 1, arbitrary: fc.record({ advance: fc.constantFrom(1_000, MINUTE, DAY, 31 * DAY) }) },
        {
          weight: 1,
          arbitrary: fc.record({ update: fc.record({ ...counters, externalId: clearable(fc.constant('OWNER')) }) }),
        },
        { weight: 2, arbitrary: fc.record({ identity: fc.record({ ...counters, ...ofIdentity }) }) },
        { weight: 1, arbitrary: fc.record({ deleteIdentity: fc.record({ keys: maybe(ends) }) }) },
        {
          weight: 1,
          arbitrary: fc.record({
            updateRemaining: fc.record({ op: fc.constantFrom('set', 'increment', 'decrement'), value: fc.nat(3) }),
          }),
        },
      );
      const owned = { externalId: maybe(fc.constant('OWNER')), ratelimits: maybe(limits) };
      const key = fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({
            ...owned,
            remaining: maybe(fc.nat(3)),
            metered: maybe(fc.boolean()),
            refill: maybe(refill),
          }),
        },
        { weight: 1, arbitrary: fc.record({ ...owned, metered: fc.constant(true) }) },
      );
      const script = fc.record({ key, steps: fc.array(step, { maxLength: 20, size: 'max' }) });
      await fc.assert(
        fc.asyncProperty(script, async (played) => {
          const [real, fake] = await both(played);
          expect(fake).toEqual(real);
        }),
        { seed: Number(process.env['KEYSTILE_TEST_SEED'] ?? 1), numRuns: timesAsMany(150) },
      );
    });
  });

  test('keys are made all or none, with the error of the one at fault', async () => {
    const seen = async (keystile: Keystile): Promise<unknown[]> => {
      const { apiId } = await keystile.apis.create({ name: 'many' });
      const externalId = `owner_${++made}`;
      await keystile.identities.create({ externalId, maxKeys: 3 });
      const create = (count: number, last: object = {}) => {
        const keys = [...Array.from({ length: count }, () => ({ externalId, remaining: 1 })), last];
        return keystile.keys.createKeys({ apiId, keys });
      };
      const refused = (work: Promise<unknown>) => work.catch(({ code, message }) => [code, message.split(':')[0]]);
      const created = await create(2);
      const verdicts = await Promise.all(created.keys.map(({ key }) => keystile.verify(key)));
      const refusals = [
        await refused(create(2)),
        await refused(create(0, { refill: { interval: 'daily', amount: 1 } })),
      ];
      const { keys } = await keystile.identities.get({ externalId });
      return [verdicts.map((verdict) => [verdict.code, 'remaining' in verdict && verdict.remaining]), refusals, keys];
    };
    const real = await seen(connected());
    expect(real).toEqual([
      [
        ['VALID', 0],
        ['VALID', 0],
        ['VALID', false],
      ],
      [
        ['PRECONDITION_FAILED', 'keys[1]'],
        ['BAD_REQUEST', 'keys[0]'],
      ],
      2,
    ]);
    expect(await seen(new FakeKeystile().keystile)).toEqual(real);
  });

  test('a key of the fake has at most 10,000 live idempotency keys', async () => {
    const fake = new FakeKeystile();
    const { key } = await fake.createKey({ remaining: 20_000 });
    const asked = Array.from({ length: 10_000 }, (_, i) =>
      fake.keystile.verify(key, { idempotencyKey: `key-${i}-${i}` }),
    );
    expect((await Promise.all(asked)).every(({ valid }) => valid)).toBe(true);
    const next = () => fake.keystile.verify(key, { idempotencyKey: 'one-more-1' });
    expect(comparable(await next())).toEqual({ code: 'UNAVAILABLE', cause: 'RATE_LIMITED' });
    fake.advance(3_600_000);
    expect(await next()).toMatchObject({ valid: true, remaining: 9_999 });
  });
});
