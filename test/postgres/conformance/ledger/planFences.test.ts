import { expect, test } from 'bun:test';

import type { PlanLimit } from '../../../../src/core/records.ts';
import type { Freshness } from '../../../../src/storage/port/freshness.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { verify } from '../events/toldEvents.ts';
import { api, identity, key, plan, write } from '../samples.ts';

const HOUR_MS = 3_600_000;
const limitOf = (limit: number): PlanLimit => ({ name: 'requests', limit, durationMs: HOUR_MS, async: false });

describePort('a plan that another node has changed', (setup) => {
  test.each([
    ['of a key', { planId: 'plan_1' }, null],
    ['of an identity', { identityId: 'id_1' }, { planId: 'plan_1' }],
  ])(
    '%s decides the next strict spend, although this node has the old plan in memory',
    async (_, ofKey, ofIdentity) => {
      const { storage } = setup();
      const before = plan('plan_1', 'starter', { limits: [limitOf(5)] });
      await write(
        storage,
        { kind: 'insertApi', api: api('api_1') },
        { kind: 'insertPlan', plan: before },
        ...(ofIdentity === null
          ? []
          : [{ kind: 'insertIdentity' as const, identity: identity('id_1', 'customer', ofIdentity) }]),
        { kind: 'insertKey', key: key('key_1', ofKey) },
      );
      // It hears of no change: the writes below do not go through it.
      const deaf: Freshness = Object.assign(Object.create(storage.freshness) as Freshness, {
        mayUseCache: () => true,
        onChange: () => undefined,
      });
      const engine = engineOn({ ...storage, freshness: deaf, close: () => storage.close() });
      const codes = async (): Promise<string[]> => {
        const verdicts = [await verify(engine, 'digest of key_1'), await verify(engine, 'digest of key_1')];
        return verdicts.map(({ code }) => code);
      };
      expect(await codes()).toEqual(['VALID', 'VALID']);
      await write(storage, { kind: 'updatePlan', plan: { ...before, limits: [limitOf(3)], revision: 2 }, expect: 1 });
      expect(await codes()).toEqual(['VALID', 'RATE_LIMITED']);
    },
  );
});
