import { expect, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { Receiver } from '../../http/webhooks/receiver.ts';
import { keystile, withoutServer, withServer } from './cliRun.ts';

test('webhooks are made, listed, tried and deleted from the command line', async () => {
  using receiver = new Receiver();
  await using service = await withServer({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  const { apiId } = await service.json('api', 'create', 'payments');
  const bound = ['--event', 'key.deleted', '--api', String(apiId)];
  const made = await service.json('webhook', 'create', receiver.url, ...bound);
  const id = String(made['webhookId']);
  const list = await service.ok('webhook', 'list');
  expect(list).toContain(id);
  expect(list).toMatch(new RegExp(`yes +- +key\\.deleted +${String(apiId)} +http:`));
  const { eventId } = await service.json('webhook', 'test', id);
  await until('the test has come', () => receiver.received.length > 0);
  expect(receiver.received.map((each) => each.id)).toEqual([String(eventId)]);
  expect(receiver.received[0]?.signedBy([String(made['secret'])]).length).toBe(1);
  expect(await service.ok('webhook', 'delete', id, '--yes')).toBe(`Deleted ${id}.\n`);
  expect(await service.json('webhook', 'list')).toEqual({ webhooks: [] });
});

test('webhook listen prints events whose signature is right, refuses others, and leaves no webhook behind', async () => {
  await using service = await withServer({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  const written = { out: '', err: '' };
  const listening = keystileWriting(['webhook', 'listen', '--event', 'key.created', '--count', '2'], service, written);
  const urlOf = () => /Listening at (\S+)\. /.exec(written.err)?.[1];
  await until('it listens', () => urlOf() !== undefined);
  const forged = await fetch(urlOf() ?? '', {
    method: 'POST',
    headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' },
    body: '{"id":"evt_1","type":"key.created","time":1,"data":{"forged":true}}',
  });
  expect(forged.status).toBe(401);
  const { apiId } = await service.json('api', 'create', 'payments');
  const keys = [
    await service.json('key', 'create', '--api', String(apiId)),
    await service.json('key', 'create', '--api', String(apiId)),
  ];
  expect(await listening).toBe(0);
  const lines = written.out.trim().split('\n');
  expect(lines.length).toBe(2);
  // Events come in any order.
  for (const { keyId } of keys)
    expect(lines.filter((line) => line.includes(`key.created  {"keyId":"${String(keyId)}"`)).length).toBe(1);
  expect(written.out).not.toContain('forged');
  expect(await service.json('webhook', 'list')).toEqual({ webhooks: [] });
});

test('webhook listen says what is missing: a running service, or the setting that allows this machine as a target', async () => {
  await using stopped = await withoutServer();
  const none = await stopped.run(['webhook', 'listen']);
  expect([none.code, none.err]).toEqual([
    1,
    expect.stringContaining(
      'Nothing sends events: the service is not running. Start it with keystile serve.',
    ) as string,
  ]);
  await using strict = await withServer();
  const refused = await strict.run(['webhook', 'listen']);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('KEYSTILE_WEBHOOK_ALLOW_PRIVATE') as string]);
});

/** Runs a command whose output is looked at while it runs. */
async function keystileWriting(
  words: readonly string[],
  { environment, rootKey }: { environment: Readonly<Record<string, string>>; rootKey: string },
  written: { out: string; err: string },
): Promise<number> {
  const ran = await keystile(words, { environment: { ...environment, KEYSTILE_ROOT_KEY: rootKey }, written });
  return ran.code;
}
