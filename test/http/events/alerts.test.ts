import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { reuseService } from '../../support/reusedService.ts';

const using = reuseService();
const WEEK = { expiresWithinMs: 604_800_000 };

test('alerts are set, shown, audited and cleared, on keys, imported keys and identities', async () => {
  const service = using();
  const { keyId, apiId } = await service.createKey({ alerts: WEEK });
  const plaintext = 'a-key-that-was-made-elsewhere-1';
  const { keyIds } = await service.ok('/v1/migrations.createKeys', [{ apiId, plaintext, alerts: WEEK }]);
  for (const id of [keyId, ...(keyIds as string[])]) {
    expect((await service.ok('/v1/keys.getKey', { keyId: id })).alerts).toEqual(WEEK);
    await service.ok('/v1/keys.updateKey', { keyId: id, name: 'other' });
    expect((await service.ok('/v1/keys.getKey', { keyId: id })).alerts).toEqual(WEEK);
  }
  await service.ok('/v1/keys.updateKey', { keyId, alerts: null });
  expect((await service.ok('/v1/keys.getKey', { keyId })).alerts).toBeUndefined();
  const { entries } = await service.ok('/v1/audit.listEntries', { target: keyId, action: 'key.update', limit: 1 });
  expect(entries).toMatchObject([{ before: { alerts: WEEK }, after: { alerts: null } }]);

  const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId: 'acme', alerts: WEEK });
  expect((await service.ok('/v1/identities.getIdentity', { identityId })).alerts).toEqual(WEEK);
  const cleared = await service.ok('/v1/identities.updateIdentity', { identityId, alerts: null });
  expect(cleared.alerts).toBeUndefined();
});

test('the service tells of keys that expire in the background', async () => {
  const service = using();
  const { engine, clock } = service;
  const expires = clock.nowMs() + WEEK.expiresWithinMs;
  const { keyId, apiId, key } = await service.createKey({ expires, alerts: WEEK, remaining: 3 });
  const log = { info() {}, warn() {}, error() {} };
  const { tasks } = engineTasks({
    engine,
    syncIntervalMs: 250,
    log,
    wallClockMs: clock.nowMs,
    monotonicMs: clock.nowMs,
  });
  const sweep = tasks.find(({ name }) => name === 'telling of keys that expire');
  await sweep?.run({ rest: async () => true, until: async () => {} });
  const { events } = await service.ok('/v1/events.listEvents', { types: 'key.expiring' });
  expect(events).toMatchObject([{ data: { keyId, apiId, expires } }]);
  expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 2 });
});
