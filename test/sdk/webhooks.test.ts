import { expect, test } from 'bun:test';

import { verifyWebhook, type VerifyWebhookOptions, WebhookError } from '../../sdk/src/index.ts';
import { Receiver } from '../http/webhooks/receiver.ts';
import { create, deliver, startWebhookService } from '../http/webhooks/webhookSetup.ts';

/** What `work` refuses with. */
async function reasonOf(work: Promise<unknown>): Promise<string | undefined> {
  const error = await work.then(
    () => null,
    (each: unknown) => each,
  );
  return error instanceof WebhookError ? error.reason : undefined;
}

test('verifyWebhook takes what Keystile has sent, also during a rotation, and nothing that was changed, is old or has another secret', async () => {
  using receiver = new Receiver();
  await using service = await startWebhookService();
  const { webhookId, secret } = await create(service, receiver.url);
  const { secret: next } = await service.ok('/v1/webhooks.rotateSecret', { webhookId });
  const { keyId } = await service.createKey({ name: 'Ann ✓' });
  await deliver(service);
  const [sent] = receiver.received;
  if (sent === undefined) throw new Error('nothing was sent');
  const now = { nowMs: service.clock.nowMs() };
  const verify = (
    changed: { body?: string; secret?: string | string[]; headers?: object } & VerifyWebhookOptions = {},
  ) => {
    const headers = { ...Object.fromEntries(sent.headers), ...changed.headers } as Record<string, string>;
    return verifyWebhook(changed.body ?? sent.body, headers, changed.secret ?? secret, { ...now, ...changed });
  };
  for (const each of [secret, next, ['whsec_AAAA', next]]) {
    expect(await verify({ secret: each })).toMatchObject({ type: 'key.created', data: { keyId } });
  }
  // As fetch and as Node.js give the headers and the body.
  const bytes = new TextEncoder().encode(sent.body);
  expect(await verifyWebhook(bytes, sent.headers, secret, now)).toMatchObject({ id: sent.id });

  const signature = sent.headers.get('webhook-signature') ?? '';
  expect(await reasonOf(verify({ body: sent.body.replace('key.created', 'key.deleted') }))).toBe('signature');
  expect(await reasonOf(verify({ secret: 'whsec_AAAA' }))).toBe('signature');
  expect(await reasonOf(verify({ headers: { 'webhook-id': 'evt_other' } }))).toBe('signature');
  expect(await reasonOf(verify({ headers: { 'webhook-timestamp': String(sent.timestamp + 1) } }))).toBe('signature');
  expect(await reasonOf(verify({ headers: { 'webhook-signature': signature.replaceAll('v1,', 'v2,') } }))).toBe(
    'signature',
  );
  expect(await reasonOf(verify({ headers: { 'webhook-signature': 'v1,*** v1,AAAA' } }))).toBe('signature');
  expect(await reasonOf(verify({ headers: { 'webhook-signature': '' } }))).toBe('headers');
  expect(await reasonOf(verify({ secret: 'AAAA' }))).toBe('secret');
  const MINUTES_MS = 5 * 60_000;
  for (const awayMs of [-MINUTES_MS, MINUTES_MS]) {
    expect(await verify({ nowMs: sent.timestamp * 1000 + awayMs })).toMatchObject({ id: sent.id });
    const tooFar = sent.timestamp * 1000 + awayMs + Math.sign(awayMs);
    expect(await reasonOf(verify({ nowMs: tooFar }))).toBe('timestamp');
    expect(await verify({ nowMs: tooFar, toleranceMs: MINUTES_MS + 1 })).toMatchObject({ id: sent.id });
  }
  for (const timestamp of ['now', '9'.repeat(5_000), '-1', `${sent.timestamp}\n`])
    expect(await reasonOf(verify({ headers: { 'webhook-timestamp': timestamp } }))).toBe('timestamp');
  // What a stranger sends who has no secret: never an error of another kind.
  for (const changed of [
    { body: '\udcff' },
    { headers: { 'webhook-id': '\udcff' } },
    { headers: { 'webhook-signature': 'v1,\udcff v1,' } },
  ])
    expect(await reasonOf(verify(changed))).toBe('signature');
  expect(await reasonOf(verify({ secret: 'whsec_\udcff' }))).toBe('secret');
});
