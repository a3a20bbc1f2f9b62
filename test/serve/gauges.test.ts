import { expect, test } from 'bun:test';

import type { HealthGauges } from '../../src/http/answer/metrics.ts';
import { boundedHealth } from '../../src/serve/gauges.ts';

const HEALTH: HealthGauges = { checks: { disk: 'ok' }, disk: null };

test('a database that hangs keeps nobody from the metrics, and is not asked again meanwhile', async () => {
  const hanging = Promise.withResolvers<HealthGauges>();
  let asked = 0;
  const read = (): Promise<HealthGauges> => {
    asked++;
    return asked === 1 ? hanging.promise : Promise.resolve(HEALTH);
  };
  const health = boundedHealth(read, 1);
  expect([await health(), await health(), asked]).toEqual([null, null, 1]);
  hanging.resolve(HEALTH);
  expect([await health(), await health(), asked]).toEqual([HEALTH, HEALTH, 2]);
});

test('a reading that fails is not shown, and the next one is made', async () => {
  const outcomes = [Promise.reject(new Error('away')), Promise.resolve(HEALTH)];
  const health = boundedHealth(() => outcomes.shift() ?? Promise.reject(new Error('none')), 60_000);
  expect([await health(), await health()]).toEqual([null, HEALTH]);
});
