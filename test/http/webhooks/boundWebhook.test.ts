import { expect, test } from 'bun:test';

import type { TestService } from '../../support/service.ts';
import { Receiver } from './receiver.ts';
import { create, deliver, deliveriesOf, type Made, startWebhookService } from './webhookSetup.ts';

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
