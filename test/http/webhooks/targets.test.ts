import { expect, test } from 'bun:test';

import { Receiver } from './receiver.ts';
import { create, DAY_MS, deliver, deliveriesOf, type Made, startWebhookService } from './webhookSetup.ts';
import { GIVE_UP_AFTER_MS } from '../../../src/engine/admin/webhooks.ts';
import type { TestService } from '../../support/service.ts';

test('a target that hangs holds up no other, until it has taken too long', async () => {
  using good = new Receiver();
  using bad = new Receiver();
  const patience = new AbortController();
  await using service = await startWebhookService({
    settings: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' },
    webhookTimeout: () => patience.signal,
  });
  bad.answer = () => new Promise<Response>(() => {});
  const hanging = await create(service, bad.url);
  const taking = await create(service, good.url);
  const { key } = await service.createKey({ remaining: 5 });
  const stateOf = async ({ webhookId }: Made) => (await deliveriesOf(service, webhookId))[0]?.['state'];
  await service.engine.deliverEvents.run({ warn() {} });
  while ((await stateOf(taking)) !== 'delivered' || bad.received.length === 0);
  // While it hangs, keys are verified, and a second run sends the next event to the other target.
  expect((await service.verify(key)).valid).toBe(true);
  await service.createKey();
  await service.engine.deliverEvents.run({ warn() {} });
  while ((await stateOf(taking)) !== 'delivered' || good.received.length < 2);
  expect([await stateOf(hanging), bad.received.length]).toEqual(['waiting', 1]);
  // While it is being sent, it has no next try.
  const sent = async () => (await deliveriesOf(service, hanging.webhookId)).at(-1) ?? {};
  expect(await sent()).not.toHaveProperty('nextAttemptAt');
  // Whoever sends it has had it for too long, and may have died: another node may take it.
  service.clock.advance(DAY_MS);
  expect(await sent()).toHaveProperty('nextAttemptAt');
  patience.abort();
  await service.engine.deliverEvents.idle();
  const first = await sent();
  expect(first).toHaveProperty('nextAttemptAt');
  expect(first).toMatchObject({ attempts: 1, lastError: 'There was no answer within 10000 ms.' });
});

test('a redirect, a failure and what is no HTTP are tried again; a redirect is not followed', async () => {
  using good = new Receiver();
  using bad = new Receiver();
  await using service = await startWebhookService();
  const answers: Readonly<Record<string, () => Response>> = {
    '/redirect': () => Response.redirect(`${good.url}/redirected`, 307),
    '/fail': () => new Response('x'.repeat(100_000), { status: 500 }),
  };
  bad.answer = ({ path }) => answers[path]?.() ?? new Response();
  const socket = { data: (each: Bun.Socket) => void each.write('x'.repeat(20_000)) };
  using noise = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
  const urls = [...Object.keys(answers).map((path) => bad.url + path), `http://127.0.0.1:${noise.port}`];
  const made = await Promise.all(urls.map((url) => create(service, url)));
  await service.createKey();
  await deliver(service);
  expect(bad.received.map(({ path }) => path).toSorted()).toEqual(['/fail', '/redirect']);
  expect(good.received).toEqual([]);
  const states = await Promise.all(made.map(async ({ webhookId }) => (await deliveriesOf(service, webhookId))[0]));
  expect(states.map((state) => [state?.['state'], state?.['attempts'], state?.['lastError']])).toEqual([
    ['waiting', 1, 'The target answered 307.'],
    ['waiting', 1, 'The target answered 500.'],
    ['waiting', 1, 'The request failed (the answer is not HTTP).'],
  ]);
});

test('a target that answers 500 for a day gets every event in the end; after three days the webhook is paused, with a notice', async () => {
  using failing = new Receiver();
  using other = new Receiver();
  await using service = await startWebhookService();
  const { webhookId } = await create(service, failing.url, ['key.created']);
  await create(service, other.url, ['webhook.paused']);
  failing.answer = () => new Response(null, { status: 500 });
  const { clock } = service;
  const warnings: string[] = [];
  const forHours = async (hours: number) => {
    for (let minutes = 0; minutes < hours * 60; minutes += 15) {
      clock.advance(15 * 60_000);
      await deliver(service, (message) => warnings.push(message));
    }
  };
  await service.createKey();
  await forHours(24);
  const triesOfDay = failing.received.length;
  expect(triesOfDay).toBeGreaterThanOrEqual(8);
  expect(triesOfDay).toBeLessThanOrEqual(25);
  expect(new Set(failing.received.map(({ id }) => id)).size).toBe(1);
  failing.answer = () => new Response();
  await forHours(7);
  expect((await deliveriesOf(service, webhookId)).map(({ state }) => state)).toEqual(['delivered']);

  failing.answer = () => new Response(null, { status: 503 });
  await service.createKey();
  await forHours(72);
  expect((await service.ok('/v1/webhooks.getWebhook', { webhookId })).pausedAt).toBeUndefined();
  await service.createKey();
  await forHours(8);
  const paused = await service.ok('/v1/webhooks.getWebhook', { webhookId });
  expect(paused).toMatchObject({ enabled: true, pausedBecause: 'The target answered 503.', waiting: 1 });
  expect(warnings).toEqual([
    'a webhook is paused: its target failed for three days; enable it with webhooks.updateWebhook',
  ]);
  expect(other.received.map(({ body }) => (JSON.parse(body) as { data: object }).data)).toEqual([
    { webhookId, because: 'The target answered 503.' },
  ]);
  const { entries } = await service.ok('/v1/audit.listEntries', { action: 'webhook.pause' });
  expect(entries).toMatchObject([{ actor: 'system', target: webhookId, after: { paused: true } }]);

  // Paused: nothing is sent. Enabled: what waits and what came meanwhile is sent; what was given up, by hand.
  const before = failing.received.length;
  failing.answer = () => new Response();
  await service.createKey();
  await forHours(1);
  expect(failing.received.length).toBe(before);
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, enabled: true });
  await deliver(service);
  const states = (await deliveriesOf(service, webhookId)).map(({ state }) => state);
  expect(states).toEqual(['delivered', 'delivered', 'failed', 'delivered']);
  const { eventId } = (await deliveriesOf(service, webhookId))[2] as { eventId: string };
  await service.ok('/v1/webhooks.redeliver', { webhookId, eventId });
  await deliver(service);
  expect(failing.received.at(-1)?.id).toBe(eventId);
  expect(await service.ok('/v1/webhooks.listDeliveries', { webhookId, state: 'failed' })).toEqual({ deliveries: [] });
});

test('a queue is bounded: what does not fit waits in the outbox, and the target gets all of it in the end', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId } = await create(service, receiver.url);
  receiver.answer = () => new Response(null, { status: 500 });
  const { engine, clock, storage } = service;
  const events = Array.from({ length: 1250 }, (_, i) => engine.events.make('key.created', { keyId: `key_${i}` }, {}));
  await storage.ledger.apply({ writes: [], accounts: [], events });
  for (let i = 0; i < 60; i++) await deliver(service);
  expect((await service.ok('/v1/webhooks.getWebhook', { webhookId })).waiting).toBe(1000);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1000);
  // What waits for a webhook is kept, however old it is; the 250 others are not taken up yet.
  clock.advance(2 * DAY_MS);
  await storage.events.prune(clock.nowMs() - 3 * DAY_MS);
  receiver.answer = () => new Response();
  for (let i = 0; i < 3; i++) await deliver(service);
  expect(new Set(receiver.received.map(({ id }) => id))).toEqual(new Set(events.map(({ id }) => id)));

  receiver.answer = () => new Response(null, { status: 500 });
  const { eventId } = await service.ok('/v1/webhooks.sendTest', { webhookId });
  await deliver(service);
  while (!(await storage.events.prune(clock.nowMs())));
  const kept = (await service.ok('/v1/events.listEvents', {})).events as { id: string }[];
  expect(kept.map(({ id }) => id)).toEqual([eventId]);
  const { deliveries } = await service.ok('/v1/webhooks.listDeliveries', { webhookId, state: 'delivered', limit: 1 });
  expect(deliveries.length).toBe(1);
  expect(await storage.webhooks.listDeliveries({ webhookId, state: null, limit: 2000, before: null })).toHaveLength(
    1001,
  );
});

test('where a name leads is checked at each try: one that led to the internet and then to this machine is refused', async () => {
  let connections = 0;
  using inside = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { open: () => void connections++, data() {} } });
  const addresses: Record<string, readonly string[]> = {};
  await using service = await startWebhookService({ settings: {}, resolve: async (name) => addresses[name] ?? [] });
  const made: Made[] = [];
  for (const name of ['moved.test', 'mixed.test', 'gone.test']) {
    addresses[name] = ['93.184.215.14'];
    made.push(await create(service, `https://${name}:${inside.port}/hook`));
  }
  addresses['moved.test'] = ['127.0.0.1'];
  addresses['mixed.test'] = ['93.184.215.14', '::ffff:127.0.0.1'];
  delete addresses['gone.test'];
  await service.createKey();
  await deliver(service);
  const errors = await Promise.all(
    made.map(async ({ webhookId }) => (await deliveriesOf(service, webhookId))[0]?.['lastError']),
  );
  const notPublic =
    'The url must lead to a public address; others are allowed only with KEYSTILE_WEBHOOK_ALLOW_PRIVATE.';
  expect(errors).toEqual([notPublic, notPublic, 'The url must have a host name with an address.']);
  expect(connections).toBe(0);
});

/** The outcome of the next try is lost, as when the database is gone for a moment. */
function loseNextOutcome({ storage: { webhooks } }: TestService): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = webhooks.finish.bind(webhooks);
  webhooks.finish = async () => {
    webhooks.finish = finish;
    resolve();
    throw new Error('the database is gone');
  };
  return promise;
}

test('a webhook is paused before its delivery is given up: when the second is lost, the delivery waits', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId } = await create(service, receiver.url, ['key.created']);
  receiver.answer = () => new Response(null, { status: 500 });
  await service.createKey();
  await deliver(service);
  service.clock.advance(GIVE_UP_AFTER_MS);
  void loseNextOutcome(service);
  await deliver(service);
  const paused = await service.ok('/v1/webhooks.getWebhook', { webhookId });
  expect(paused).toMatchObject({ pausedBecause: 'The target answered 500.', waiting: 1 });
  // Resumed, it has three days again, although nobody has ended the lease.
  await service.ok('/v1/webhooks.updateWebhook', { webhookId, enabled: true });
  service.clock.advance(DAY_MS);
  await deliver(service);
  expect((await service.ok('/v1/webhooks.getWebhook', { webhookId })).pausedAt).toBeUndefined();
  expect((await deliveriesOf(service, webhookId))[0]).toMatchObject({ state: 'waiting', attempts: 2 });
});

test('a webhook whose outcome is lost is worked on until its other requests have ended', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  using other = new Receiver();
  await create(service, receiver.url, ['key.created']);
  const { webhookId } = await create(service, other.url, ['key.deleted']);
  const held = Promise.withResolvers<void>();
  let asked = 0;
  receiver.answer = async () => {
    // All but the first wait, also when several arrive before the first is answered.
    if (++asked > 1) await held.promise;
    return new Response();
  };
  const { engine, storage } = service;
  const events = Array.from({ length: 3 }, (_, i) => engine.events.make('key.created', { keyId: `key_${i}` }, {}));
  await storage.ledger.apply({ writes: [], accounts: [], events });
  const lost = loseNextOutcome(service);
  const order: string[] = [];
  const log = { warn: (_: string, facts?: object) => void order.push(JSON.stringify(facts)) };
  await engine.deliverEvents.run(log);
  await lost;
  // Another webhook has all the time that it needs.
  const arrived = Promise.withResolvers<void>();
  other.answer = () => {
    arrived.resolve();
    return new Response();
  };
  await service.ok('/v1/webhooks.sendTest', { webhookId });
  // A run while another one looks for work does nothing.
  const isThere = arrived.promise.then(() => true);
  while (!(await Promise.race([isThere, engine.deliverEvents.run(log).then(() => false)])))
    await new Promise((turn) => setImmediate(turn));
  order.push('the others end');
  held.resolve();
  await engine.deliverEvents.idle();
  expect(order).toEqual(['the others end', expect.stringContaining('the database is gone')]);
  expect(receiver.received.length).toBe(3);
});
