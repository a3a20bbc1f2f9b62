import { afterEach, expect, test } from 'bun:test';

import { VERSION } from '../../../src/version.ts';
import { deliver } from '../webhooks/webhookSetup.ts';
import { TestService, type TestServiceOptions } from '../../support/service.ts';

const PATH = '/v1/service.getStatus';

let service: TestService | null = null;

afterEach(async () => {
  await service?.close();
  service = null;
});

async function start(options: TestServiceOptions = {}): Promise<TestService> {
  service = await TestService.start(options);
  return service;
}

const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);

test('the embedded service is one node, which answers, and all is well with it', async () => {
  const at = await start({ settings: { KEYSTILE_LOCATION: 'attic' } });
  const status = await at.ok(PATH, {});
  expect(status).toMatchObject({
    time: at.clock.nowMs(),
    version: VERSION,
    nodes: [{ location: 'attic', version: VERSION, isSelf: true, isGone: false, lastSeenAt: at.clock.nowMs() }],
    problems: [],
  });
  expect(status.checks.every(({ isOk }: { isOk: boolean }) => isOk)).toBe(true);
});

test('the latency, spends and batches are those since the start, and later those of about a minute', async () => {
  const at = await start();
  const { key } = await at.createKey({ remaining: 100 });
  const before = (await at.ok(PATH, {})).work;
  expect([before.verifications, before.latency]).toEqual([0, undefined]);
  at.clock.advance(10_000);
  await at.verify(key);
  const first = (await at.ok(PATH, {})).work;
  expect(first).toMatchObject({ verifications: 1, since: before.since, spends: before.spends + 1 });
  expect(first.latency.p50).toBeLessThanOrEqual(first.latency.p99);
  at.clock.advance(60_000);
  await at.verify(key);
  await at.verify(key);
  const later = (await at.ok(PATH, {})).work;
  expect(later).toMatchObject({ verifications: 2, spends: 2, since: before.since + 10_000 });
});

test('answers within a second are one reading of the database', async () => {
  const at = await start();
  const [one, other] = await Promise.all([at.ok(PATH, {}), at.ok(PATH, {})]);
  expect(one).toEqual(other);
  const { time } = one;
  at.clock.advance(999);
  expect((await at.ok(PATH, {})).time).toBe(time);
  at.clock.advance(1);
  expect((await at.ok(PATH, {})).time).toBe(time + 1_000);
});

test('a full disk is a problem in words, and is over when there is space again', async () => {
  const at = await start();
  await at.fillDisk();
  at.clock.advance(1_000);
  const { problems } = await at.ok(PATH, {});
  expect(names(problems)).toEqual(['database']);
  expect(problems[0].text).toContain('disk');
  await at.storage.setMaxPages(null);
  await at.createApi();
  at.clock.advance(1_000);
  expect((await at.ok(PATH, {})).problems).toEqual([]);
});

test('a webhook whose target fails for a minute is a problem, by its host alone', async () => {
  const at = await start({ settings: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' } });
  const { webhookId } = await at.ok('/v1/webhooks.createWebhook', { url: 'http://127.0.0.1:9/hooks?token=secret' });
  await at.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(at);
  at.clock.advance(1_000);
  expect((await at.ok(PATH, {})).problems).toEqual([]);
  at.clock.advance(120_000);
  // New events that fail for the first time hide nothing.
  await at.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(at);
  const { text, body } = await at.call(PATH, {});
  expect(names(body.problems)).toEqual(['webhooks']);
  expect(body.problems[0].text).toContain('127.0.0.1:9 has failed for 2 minutes');
  expect(text).not.toContain('token=secret');
});

test('settings are told with their values, where they come from and what they mean, and no secret is', async () => {
  const pepper = 'v1:0123456789abcdef';
  const at = await start({ settings: { KEYSTILE_PEPPER: pepper, KEYSTILE_STALE_MAX: '2s' } });
  const { text, body } = await at.call(PATH, {});
  const settings = new Map<string, object>(body.configuration.map((each: { name: string }) => [each.name, each]));
  expect(settings.get('KEYSTILE_STALE_MAX')).toMatchObject({ value: '2s', source: 'environment' });
  expect(settings.get('KEYSTILE_PORT')).toMatchObject({
    value: '7878',
    source: 'default',
    text: 'Port to listen on; 0 chooses a free port.',
  });
  expect(settings.get('KEYSTILE_ANALYTICS')).toMatchObject({ value: 'on' });
  expect(settings.get('KEYSTILE_PEPPER')).toMatchObject({ value: 'set', source: 'environment' });
  expect(settings.get('KEYSTILE_ROOT_KEY')).toMatchObject({ value: 'not set', source: 'default' });
  expect(text).not.toContain('0123456789abcdef');
});

test('it needs a right of its own', async () => {
  const at = await start();
  const make = async (...permissions: string[]): Promise<string> =>
    (await at.ok('/v1/rootKeys.createRootKey', { name: 'x', permissions })).key as string;
  const refused = await at.call(PATH, {}, { rootKey: await make('root.*.read_audit') });
  expect([refused.status, refused.body.error.message]).toEqual([
    403,
    'This root key lacks the right service.*.read_status.',
  ]);
  expect((await at.call(PATH, {}, { rootKey: await make('service.*.read_status') })).status).toBe(200);
});
