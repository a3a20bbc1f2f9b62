import { describe, expect, test } from 'bun:test';

import * as sdk from '../../sdk/src/index.ts';
import { FakeKeystile } from '../../sdk/src/testing/index.ts';
import cases from '../../clients/cases.json';
import { TestService } from '../support/service.ts';

interface Step {
  readonly [name: string]: unknown;
}
interface Cases {
  readonly cases: readonly { readonly name: string; readonly key: object; readonly steps: readonly Step[] }[];
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
