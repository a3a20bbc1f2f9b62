import { expect, test } from 'bun:test';

import { AHEAD_MS, windowEnd } from '../../src/core/calendar.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../support/cluster/faultNode.ts';

const STEPS = 25;
const STEP_MS = 3_600_000;
const ROUND_TRIP_MS = 10;
const LIMIT = 50;
const DURATION_MS = 2_000;

/** A wall clock that a person sets. */
class WallClock {
  aheadMs = 0;
  readonly nowMs = (): number => Date.now() + this.aheadMs;
}

/** The database runs on this machine; a node follows its clock within a second. */
const endsTooLate = ({ body }: NodeAnswer): boolean =>
  (body['ratelimit'] as { reset: number }).reset > windowEnd(Date.now() + AHEAD_MS, DURATION_MS);

test('a wall clock that is set while a poll is under way moves no window, here or on a node that loads it', async () => {
  await using lab = await FaultLab.start();
  const clock = new WallClock();
  await using node = await FaultNode.start({ url: lab.url, nowMs: clock.nowMs });
  await using other = await FaultNode.start({ url: lab.server.url(lab.database) });
  const { localLimits } = node.composed.service.engine.memory;
  const { freshness } = node.storage;
  const ratelimit = { async: true, limit: LIMIT, duration: DURATION_MS };
  const keys = await Promise.all(Array.from({ length: STEPS }, async () => (await node.createKey({ ratelimit })).key));
  for (const key of keys) expect(await node.verify(key)).toMatchObject({ valid: true });
  lab.proxy.setDelay(ROUND_TRIP_MS);
  const wrong = { here: 0, there: 0, saved: 0 };
  for (const [i, key] of keys.entries()) {
    let isAnswered = false;
    const polled = freshness.confirm().then(() => (isAnswered = true));
    clock.aheadMs += STEP_MS;
    // The fault is there: the poll is under way, and all that is known seems to be an hour old.
    expect([i, isAnswered, freshness.mayUseCache()]).toEqual([i, false, false]);
    const answers = await Promise.all(Array.from({ length: LIMIT }, () => node.verify(key)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    if (answers.some(endsTooLate)) wrong.here++;
    await localLimits.sync();
    if (endsTooLate(await other.verify(key))) wrong.there++;
    await polled;
  }
  const rows = await lab.query('SELECT reset_at_ms FROM local_counts');
  wrong.saved = rows.filter(
    ({ reset_at_ms: end }) => Number(end) > windowEnd(Date.now() + AHEAD_MS, DURATION_MS),
  ).length;
  expect(wrong).toEqual({ here: 0, there: 0, saved: 0 });
  expect(rows.length).toBeGreaterThanOrEqual(STEPS);
});
