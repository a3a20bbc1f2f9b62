import { expect, test } from 'bun:test';

import { SYSTEM } from '../../../src/engine/admin/change/actor.ts';
import { SLICE } from '../../../src/engine/analytics/writeCounts.ts';
import { reuseService } from '../../support/reusedService.ts';

const started = reuseService();

test.each(['dashboard', 'portal'] as const)(
  'an open page (%s) makes the service write counts only while they are few; others are answered with all of them',
  async (via) => {
    const service = started();
    const apiId = await service.createApi('pages');
    const made = (await service.ok('/v1/keys.createKeys', {
      apiId,
      keys: Array.from({ length: SLICE + 1 }, () => ({ externalId: `customer_${via}` })),
    })) as { keys: { key: string }[] };
    const { analytics } = service.engine;
    const period = { granularity: 'day', startMs: null, endMs: null } as const;
    const seenBy = async (actor: typeof SYSTEM): Promise<number> => {
      const rows = await analytics.getKeyVerifications(actor, { ownerId: `customer_${via}` }, period);
      return rows.reduce((sum, { counts }) => sum + counts.VALID, 0);
    };
    const [first = { key: '' }, ...rest] = made.keys;
    await service.verify(first.key);
    expect(await seenBy({ ...SYSTEM, via })).toBe(1);
    for (const { key } of [first, ...rest]) await service.verify(key);
    expect(await seenBy({ ...SYSTEM, via })).toBe(1);
    expect(await seenBy(SYSTEM)).toBe(SLICE + 2);
  },
);
