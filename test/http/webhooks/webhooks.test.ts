import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readConfig } from '../../../src/config/read.ts';
import { signatures } from '../../../src/outgoing/signature.ts';
import { engineOn } from '../../postgres/conformance/engineOn.ts';
import type { TestService } from '../../support/service.ts';
import { Receiver } from './receiver.ts';
import { create, DAY_MS, deliver, deliveriesOf, startWebhookService, type Made } from './webhookSetup.ts';
import { MAX_CONCURRENT_DELIVERIES } from '../../../src/core/bounds.ts';
import { GIVE_UP_AFTER_MS } from '../../../src/engine/admin/webhooks.ts';

test('a webhook gets the events that it wants, from its creation on, signed, each once while the target takes them', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  await service.createKey();
  const all = await create(service, `${receiver.url}/all?token=1`);
  const some = await create(service, `${receiver.url}/some`, ['key.deleted', 'identity.created']);
  const { keyId, apiId, key } = await service.createKey({ externalId: 'acme' });
  await service.ok('/v1/keys.deleteKey', { keyId });
  await deliver(service);
  await deliver(service);
  const of = (path: string) => receiver.received.filter((each) => each.path === path);
  expect(
    of('/all')
      .map(({ type }) => type)
      .toSorted(),
  ).toEqual(['identity.created', 'key.created', 'key.deleted']);
  expect(
    of('/some')
      .map(({ type }) => type)
      .toSorted(),
  ).toEqual(['identity.created', 'key.deleted']);
  for (const { signedBy, headers, timestamp } of of('/some')) {
    expect(signedBy([all.secret, some.secret])).toEqual([some.secret]);
    expect(timestamp).toBe(Math.floor(service.clock.nowMs() / 1000));
    expect([headers.get('content-type'), headers.get('host')]).toEqual([
      'application/json',
      new URL(receiver.url).host,
    ]);
  }
  const deleted = of('/some').find(({ type }) => type === 'key.deleted');
  const { events } = await service.ok('/v1/events.listEvents', { types: 'key.deleted' });
  expect(JSON.parse(deleted?.body ?? '')).toEqual(events[0]);
  expect(events[0]).toMatchObject({ id: deleted?.id ?? '', data: { keyId, apiId, externalId: 'acme' } });
  expect(deleted?.body).not.toContain(key);
  expect(await deliveriesOf(service, some.webhookId)).toMatchObject([
    { type: 'key.deleted', state: 'delivered', attempts: 1, lastStatus: 204 },
    { type: 'identity.created', state: 'delivered', attempts: 1, lastStatus: 204 },
  ]);
  // Deleted: nothing is sent any more, and nothing is left of it.
  await service.ok('/v1/webhooks.deleteWebhook', { webhookId: all.webhookId });
  await service.createKey();
  await deliver(service);
  expect(receiver.received.length).toBe(5);
  expect((await service.ok('/v1/webhooks.listWebhooks', {})).webhooks).toEqual([
    {
      id: some.webhookId,
      url: `${receiver.url}/some`,
      events: ['key.deleted', 'identity.created'],
      enabled: true,
      createdAt: service.clock.nowMs(),
    },
  ]);
});

test('after a rotation both secrets sign for the overlap, and the old one ends with it', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId, secret } = await create(service, receiver.url);
  const { secret: next } = await service.ok('/v1/webhooks.rotateSecret', { webhookId, overlapMs: 1000 });
  const signers = async () => {
    await service.ok('/v1/webhooks.sendTest', { webhookId });
    await deliver(service);
    return receiver.received.at(-1)?.signedBy([secret, next, third]);
  };
  let third = '';
  expect(await signers()).toEqual([secret, next]);
  service.clock.advance(1000);
  expect(await signers()).toEqual([next]);
  third = (await service.ok('/v1/webhooks.rotateSecret', { webhookId, overlapMs: 0 })).secret;
  expect(await signers()).toEqual([third]);
  expect(receiver.types()).toEqual(['webhook.test', 'webhook.test', 'webhook.test']);
});

test('the secrets are nowhere to be read: not in the database, the log, the audit log or a list; without its key none opens', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId, secret } = await create(service, receiver.url);
  const { secret: next } = await service.ok('/v1/webhooks.rotateSecret', { webhookId });
  await service.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(service);
  const answers = await Promise.all([
    service.ok('/v1/webhooks.getWebhook', { webhookId }),
    service.ok('/v1/audit.listEntries', {}),
    service.ok('/v1/events.listEvents', {}),
    service.ok('/v1/webhooks.listDeliveries', { webhookId }),
  ]);
  const files = ['keystile.db', 'keystile.db-wal'].map((name) => readFileSync(join(service.folder, name), 'latin1'));
  const told = [...files, JSON.stringify(answers), ...service.logLines].join('\n');
  for (const each of [secret, next]) expect(told.includes(each.slice('whsec_'.length))).toBe(false);
  const key = join(service.folder, 'encryption-key');
  expect(statSync(key).mode & 0o777).toBe(0o600);
  // Another key than the one that has sealed it.
  const stored = await service.storage.webhooks.find(webhookId);
  const otherKey = Buffer.alloc(32, 7).toString('base64');
  await service.stop();
  await Bun.write(key, `${otherKey}\n`);
  await service.open();
  await service.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(service);
  expect((await deliveriesOf(service, webhookId))[0]).toMatchObject({
    state: 'waiting',
    lastError:
      'The signing secret cannot be decrypted: its encryption key is missing. Set it again, or rotate the secret.',
  });
  const { secret: last } = await service.ok('/v1/webhooks.rotateSecret', { webhookId });
  service.clock.advance(DAY_MS);
  await deliver(service);
  expect(receiver.received.at(-1)?.signedBy([last])).toEqual([last]);
  expect(stored?.secret).toStartWith('1.');
});

test('without a key that encrypts, no webhook is made, and the answer names the setting', async () => {
  await using service = await startWebhookService();
  const engine = engineOn(service.storage);
  const actor = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };
  expect(engine.webhooks.create(actor, { url: 'https://example.com' })).rejects.toThrow(
    'The signing secrets of webhooks are stored encrypted, and there is no key for that: set KEYSTILE_ENCRYPTION_KEY to 32 random bytes in base64, the same on every node.',
  );
});

test('the signature is the one of the Standard Webhooks specification', () => {
  // The example of its libraries.
  const request = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', seconds: 1614265330, body: '{"test": 2432232314}' };
  expect(signatures(request, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('the key that encrypts is changed with a list: the new one seals, the old one still opens', async () => {
  using receiver = new Receiver();
  const folder = mkdtempSync(join(tmpdir(), 'keystile-webhooks-'));
  const [old, next] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  const life = async (key: string, work: (service: TestService) => Promise<void>) => {
    const settings = { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on', KEYSTILE_ENCRYPTION_KEY: key };
    await using service = await startWebhookService({ folder, settings });
    await work(service);
    await deliver(service);
  };
  let webhookId = '';
  await life(old ?? '', async (service) => {
    ({ webhookId } = await create(service, receiver.url));
  });
  await life(`${next}, ${old}`, async (service) => {
    await service.ok('/v1/webhooks.sendTest', { webhookId });
  });
  expect(receiver.types()).toEqual(['webhook.test']);
  await life(`${next}, ${old}`, async (service) => {
    await service.ok('/v1/webhooks.rotateSecret', { webhookId, overlapMs: 0 });
  });
  await life(next ?? '', async (service) => {
    await service.ok('/v1/webhooks.sendTest', { webhookId });
  });
  expect(receiver.types()).toEqual(['webhook.test', 'webhook.test']);
  expect(existsSync(join(folder, 'encryption-key'))).toBe(false);
  rmSync(folder, { recursive: true });
  const { problems } = readConfig({ environment: { KEYSTILE_ENCRYPTION_KEY: 'short' }, flags: {}, readFile: () => '' });
  expect(problems).toEqual([
    'KEYSTILE_ENCRYPTION_KEY must be 32 bytes in base64, 44 characters, such as `openssl rand -base64 32` makes; several are separated by commas, newest first.',
  ]);
});

const rootKeyWith = async (service: TestService, ...rights: string[]): Promise<string> =>
  (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

const bind = (service: TestService, url: string, apis: readonly string[]): Promise<Made> =>
  service.ok('/v1/webhooks.createWebhook', { url, apis }) as Promise<Made>;

const hidden = (what: string, id: string): string => `There is no ${what} "${id}", or this root key may not see it.`;

const eventIdOf = async (service: TestService, keyId: string): Promise<string> => {
  const { events } = await service.ok('/v1/events.listEvents', {});
  return events.find((event: { data: { keyId?: string } }) => event.data.keyId === keyId).id;
};

test('a webhook that is bound to apis gets events of these apis, and none of others or of none', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const [mine, second, other] = [await service.createApi(), await service.createApi(), await service.createApi()];
  const { webhookId } = await bind(service, receiver.url, [mine, second]);
  for (const apiId of [mine, second, other]) await service.createKey({ apiId });
  const { keyId, key } = await service.createKey({ apiId: mine, externalId: 'acme', remaining: 5 });
  await service.ok('/v1/plans.createPlan', { name: 'pro' });
  // An expired reservation belongs to the api of its key.
  await service.ok('/v1/reservations.create', { key, cost: 1, ttlMs: 1000 });
  service.clock.advance(1000);
  await service.engine.dueCredits.endExpired();
  await deliver(service);
  const told = receiver.received.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, string> });
  expect(told.map(({ type }) => type).toSorted()).toEqual([
    'key.created',
    'key.created',
    'key.created',
    'reservation.expired',
  ]);
  expect(told.find(({ type }) => type === 'reservation.expired')?.data.keyId).toBe(keyId);
  expect(new Set(told.flatMap(({ data }) => data.apiId ?? []))).toEqual(new Set([mine, second]));
  expect((await service.ok('/v1/webhooks.getWebhook', { webhookId })).apis).toEqual([mine, second]);
  // A test is for it, too.
  await service.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(service);
  expect(receiver.types().at(-1)).toBe('webhook.test');
  // Unbound, it gets what happens from then on.
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, apis: null });
  await service.createKey({ apiId: other });
  await deliver(service);
  expect(receiver.received.length).toBe(6);
});

test('what waits for a webhook that is bound to fewer apis meanwhile is not sent, and does not pause it', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const [mine, other] = [await service.createApi(), await service.createApi()];
  const { webhookId } = await create(service, receiver.url);
  receiver.answer = () => new Response(null, { status: 500 });
  for (const apiId of [mine, other]) await service.createKey({ apiId });
  await deliver(service);
  receiver.received.length = 0;
  receiver.answer = () => new Response();
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, apis: [mine] });
  service.clock.advance(60_000);
  await deliver(service);
  expect(receiver.received.map(({ body }) => JSON.parse(body).data.apiId)).toEqual([mine]);
  expect(await deliveriesOf(service, webhookId)).toMatchObject([
    { state: 'failed', lastError: 'The webhook is bound to other apis now, so this event is not sent to it.' },
    { state: 'delivered' },
  ]);
  expect(await service.ok('/v1/webhooks.getWebhook', { webhookId })).not.toHaveProperty('pausedAt');
});

test('the right to change a webhook alone shows no event and no secret, and widens nothing', async () => {
  await using service = await startWebhookService();
  const { keyId } = await service.createKey();
  const { webhookId } = await create(service, 'http://127.0.0.1:9/', ['key.deleted']);
  const eventId = await eventIdOf(service, keyId);
  const rootKey = await rootKeyWith(service, `webhook.${webhookId}.update_webhook`);
  const before = await service.ok('/v1/webhooks.getWebhook', { webhookId });
  for (const [method, more] of [
    ['updateWebhook', { events: null }],
    ['updateWebhook', { events: ['key.created'] }],
    ['updateWebhook', { apis: null }],
    ['updateWebhook', { apis: ['api_1Jm8ZtXg3kPp5FhJ9sQw2R'] }],
    ['updateWebhook', { url: 'http://127.0.0.1:10/' }],
    ['updateWebhook', { enabled: true }],
    ['redeliver', { eventId }],
    ['redeliver', { eventId: 'evt_1Jm8ZtYm6qVv9KoP4xWz3Y' }],
    ['rotateSecret', {}],
  ] as const) {
    const answer = await service.call(`/v1/webhooks.${method}`, { webhookId, ...more }, { rootKey });
    expect([method, answer.status, answer.body.error?.message]).toEqual([
      method,
      403,
      'This root key lacks the right event.*.read_event.',
    ]);
  }
  expect(await service.ok('/v1/webhooks.getWebhook', { webhookId })).toEqual(before);
  expect(await deliveriesOf(service, webhookId)).toEqual([]);
  // It may still stop it, and try it.
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, enabled: false }, { rootKey });
  await service.ok('/v1/webhooks.sendTest', { webhookId }, { rootKey });
});

test('the right to read events of some apis is enough for a webhook that is bound to them, and for no other', async () => {
  await using service = await startWebhookService();
  const [mine, other] = [await service.createApi(), await service.createApi()];
  const [own, foreign] = [await service.createKey({ apiId: mine }), await service.createKey({ apiId: other })];
  const rootKey = await rootKeyWith(
    service,
    'webhook.*.create_webhook',
    'webhook.*.update_webhook',
    `event.${mine}.read_event`,
  );
  const call = (method: string, body: object) => service.call(`/v1/webhooks.${method}`, body, { rootKey });
  const url = 'http://127.0.0.1:9/';
  const lacking = [403, 'This root key lacks the right event.*.read_event.'];
  const outcomeOf = async (method: string, body: object) => {
    const { status, body: answer } = await call(method, body);
    return [status, answer.error?.message];
  };
  expect(await outcomeOf('createWebhook', { url })).toEqual(lacking);
  const absent = 'api_1Jm8ZtXg3kPp5FhJ9sQw2R';
  for (const apiId of [other, absent])
    expect(await outcomeOf('createWebhook', { url, apis: [mine, apiId] })).toEqual([404, hidden('api', apiId)]);
  const { webhookId } = (await call('createWebhook', { url, apis: [mine] })).body;
  const change = { webhookId };
  for (const more of [{ events: ['key.created'] }, { events: null }, { url: 'http://127.0.0.1:10/' }, { apis: [mine] }])
    expect((await call('updateWebhook', { ...change, ...more })).status).toBe(200);
  expect((await call('rotateSecret', change)).status).toBe(200);
  expect((await call('redeliver', { ...change, eventId: await eventIdOf(service, own.keyId) })).status).toBe(200);
  // An event of another api looks as if it did not exist.
  const eventId = await eventIdOf(service, foreign.keyId);
  expect(await outcomeOf('redeliver', { ...change, eventId })).toEqual([404, hidden('event', eventId)]);
  expect(await outcomeOf('updateWebhook', { ...change, apis: null })).toEqual(lacking);
  expect(await outcomeOf('updateWebhook', { ...change, apis: [other] })).toEqual([404, hidden('api', other)]);
  // Somebody with more rights binds it to more: from then on it shows more than this root key may read.
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, apis: [mine, other] });
  for (const [method, more] of [
    ['rotateSecret', {}],
    ['redeliver', { eventId }],
    ['updateWebhook', { events: null }],
    ['updateWebhook', { url }],
  ] as const)
    expect(await outcomeOf(method, { ...change, ...more })).toEqual(lacking);
  // To bind it to less is no widening.
  expect((await call('updateWebhook', { ...change, apis: [mine] })).status).toBe(200);
});

/** The target answers when it is told to. `arrived`: it has this many requests. */
function held(receiver: Receiver, count: number): { readonly arrived: Promise<void>; readonly release: () => void } {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  receiver.answer = async () => {
    if (receiver.received.length === count) arrived.resolve();
    await released.promise;
    return new Response();
  };
  return { arrived: arrived.promise, release: released.resolve };
}

test('types that a webhook gets from now on hold for every event after the answer, also while it is being sent to', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId } = await create(service, receiver.url, ['key.created']);
  const { arrived, release } = held(receiver, 1);
  const { keyId } = await service.createKey();
  await service.engine.deliverEvents.run({ warn() {} });
  await arrived;
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, events: null });
  await service.ok('/v1/keys.deleteKey', { keyId });
  release();
  await service.engine.deliverEvents.idle();
  await deliver(service);
  expect(receiver.types()).toEqual(['key.created', 'key.deleted']);
});

test('after the answer, a former url and a secret that has ended are used no more; what waits goes to the new url', async () => {
  using former = new Receiver();
  using next = new Receiver();
  await using service = await startWebhookService();
  const { engine, storage } = service;
  const { webhookId, secret } = await create(service, former.url);
  const { arrived, release } = held(former, MAX_CONCURRENT_DELIVERIES);
  const events = Array.from({ length: 50 }, (_, i) => engine.events.make('key.created', { keyId: `key_${i}` }, {}));
  await storage.ledger.apply({ writes: [], accounts: [], events });
  await engine.deliverEvents.run({ warn() {} });
  await arrived;
  const { secret: present } = await service.ok('/v1/webhooks.rotateSecret', { webhookId, overlapMs: 0 });
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, url: next.url, enabled: false });
  release();
  await engine.deliverEvents.idle();
  await deliver(service);
  expect([former.received.length, next.received.length]).toEqual([MAX_CONCURRENT_DELIVERIES, 0]);
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, enabled: true });
  await deliver(service);
  expect(next.received.map(({ signedBy }) => signedBy([secret, present]))).toEqual(
    Array.from({ length: events.length - MAX_CONCURRENT_DELIVERIES }, () => [present]),
  );
  const deliveries = await deliveriesOf(service, webhookId);
  expect(deliveries.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true);
});

test('another url ends a pause, and what has failed at the former one is sent to it at once', async () => {
  using former = new Receiver();
  using next = new Receiver();
  await using service = await startWebhookService();
  const { webhookId } = await create(service, former.url, ['key.created']);
  former.answer = () => new Response(null, { status: 500 });
  await service.createKey();
  await deliver(service);
  service.clock.advance(GIVE_UP_AFTER_MS);
  await deliver(service);
  const shown = () => service.ok('/v1/webhooks.getWebhook', { webhookId });
  expect((await shown()).pausedBecause).toBe('The target answered 500.');
  await service.createKey();
  // The same url is no reason.
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, url: former.url });
  await deliver(service);
  expect([(await shown()).pausedBecause, former.received.length]).toEqual(['The target answered 500.', 2]);
  next.answer = former.answer;
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, url: next.url });
  await deliver(service);
  expect([(await shown()).pausedBecause, next.received.length]).toEqual([undefined, 1]);
  // Its next try is not due yet. At another url it is.
  using last = new Receiver();
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, url: last.url });
  await deliver(service);
  expect([next.received.length, last.received.length]).toEqual([1, 1]);
});
