import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readConfig } from '../../../src/config/read.ts';
import { signatures } from '../../../src/outgoing/signature.ts';
import { engineOn } from '../../postgres/conformance/engineOn.ts';
import type { TestService } from '../../support/service.ts';
import { Receiver } from './receiver.ts';
import { create, DAY_MS, deliver, deliveriesOf, startWebhookService } from './webhookSetup.ts';

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
