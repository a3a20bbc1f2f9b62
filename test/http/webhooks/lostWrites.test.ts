import { expect, test } from 'bun:test';

import { GIVE_UP_AFTER_MS } from '../../../src/engine/admin/webhooks.ts';
import type { TestService } from '../../support/service.ts';
import { Receiver } from './receiver.ts';
import { create, DAY_MS, deliver, deliveriesOf, startWebhookService } from './webhookSetup.ts';

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
