import { expect, test } from 'bun:test';

import { MAX_CONCURRENT_DELIVERIES } from '../../../src/core/bounds.ts';
import { GIVE_UP_AFTER_MS } from '../../../src/engine/admin/webhooks.ts';
import { Receiver } from './receiver.ts';
import { create, deliver, deliveriesOf, startWebhookService } from './webhookSetup.ts';

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
