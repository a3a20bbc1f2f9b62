import { expect, test } from 'bun:test';

import { TestService } from '../harness/service.ts';

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
    for (let window = 0; window < 3; window++) {
      const order = window % 2 === 0 ? [old, fresh, old, fresh] : [fresh, old, fresh, old];
      expect(await codes(...order)).toEqual(['VALID', 'VALID', 'RATE_LIMITED', 'RATE_LIMITED']);
      service.clock.advance(MINUTE_MS);
      await service.engine.edge.sync();
      service.engine.edge.forgetEnded(service.clock.nowMs(), 1_000);
      expect(service.engine.edge.owner(keyId)).toBeUndefined();
    }
  } finally {
    await service.close();
  }
});
