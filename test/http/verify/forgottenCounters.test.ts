import { expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

const MINUTE_MS = 60_000;

test('counters that were forgotten are looked up anew by every secret of a key: together they keep to its local limit', async () => {
  const service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  try {
    const ratelimit = { async: true, limit: 2, duration: MINUTE_MS };
    const { key: old, keyId } = await service.createKey({ ratelimit });
    const { key: fresh } = await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 10 * MINUTE_MS });
    const codes = async (...keys: string[]): Promise<string[]> => {
      const answers: string[] = [];
      for (const key of keys) answers.push((await service.verify(key)).code);
      return answers;
    };
    expect(await codes(old, old, old)).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
    service.clock.advance(MINUTE_MS);
    await service.engine.memory.localLimits.sync();
    service.engine.memory.localLimits.forgetEnded(service.clock.nowMs(), 1_000);
    expect(service.engine.memory.localLimits.owner(keyId)).toBeUndefined();
    // One secret is seen for the first time, the other was counted under what is forgotten.
    expect(await codes(fresh, old, fresh, old)).toEqual(['VALID', 'VALID', 'RATE_LIMITED', 'RATE_LIMITED']);
  } finally {
    await service.close();
  }
});

test('counters of an identity that were forgotten are looked up anew: a change of the identity does not begin them again', async () => {
  const service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  try {
    const externalId = 'customer_1';
    const ratelimits = [{ name: 'shared', limit: 2, duration: MINUTE_MS, async: true }];
    const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId, ratelimits });
    const { key } = await service.createKey({ externalId });
    expect((await service.verify(key)).code).toBe('VALID');
    service.clock.advance(MINUTE_MS);
    await service.engine.memory.localLimits.sync();
    service.engine.memory.localLimits.forgetEnded(service.clock.nowMs(), 1_000);
    expect(service.engine.memory.localLimits.owner(identityId)).toBeUndefined();
    expect([(await service.verify(key)).code, (await service.verify(key)).code]).toEqual(['VALID', 'VALID']);
    await service.ok('/v1/identities.updateIdentity', { externalId, name: 'Acme' });
    expect((await service.verify(key)).code).toBe('RATE_LIMITED');
  } finally {
    await service.close();
  }
});
