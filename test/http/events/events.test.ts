import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { reuseService } from '../../support/reusedService.ts';

const using = reuseService({ settings: { KEYSTILE_EVENT_RETENTION: '5d' } });

interface Page {
  readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: number; data: object }[];
  readonly cursor: string;
}

const list = (query: object = {}): Promise<Page> => using().ok('/v1/events.listEvents', query);

test('events.listEvents goes on from a cursor: oldest first, nothing twice, nothing left out, and the cursor stays at the end', async () => {
  const service = using();
  const { cursor: before } = await list();
  const { keyId, apiId } = await service.createKey({ name: 'Ann', meta: { plan: 'free' } });
  await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
  const seen: Page['events'][number][] = [];
  for (let cursor = before; ;) {
    const page = await list({ cursor, limit: 1 });
    seen.push(...page.events);
    cursor = page.cursor;
    if (page.events.length === 0) break;
    if (seen.length === 1) await service.ok('/v1/keys.deleteKey', { keyId });
  }
  expect(seen.map(({ type }) => type)).toEqual(['key.created', 'key.updated', 'key.deleted']);
  expect(seen[0]).toEqual({
    id: expect.stringMatching(/^evt_/) as string,
    type: 'key.created',
    time: service.clock.nowMs(),
    sequence: expect.any(Number) as number,
    data: {
      keyId,
      apiId,
      actor: expect.stringMatching(/^rk_/) as string,
      requestId: expect.stringMatching(/^req_/) as string,
      after: { apiId, start: expect.any(String) as string, name: 'Ann', meta: { plan: 'free' }, enabled: true },
    },
  } as never);
  expect((await list({ cursor: before, types: 'key.deleted' })).events).toEqual(seen.slice(2));
  const answer = await service.call(
    `/v1/events.listEvents?cursor=${before}&types=key.created&types=key.updated`,
    undefined,
    {
      method: 'GET',
    },
  );
  expect((answer.body as Page).events).toEqual(seen.slice(0, 2));
});

test('an event that is too long keeps its ids alone', async () => {
  const service = using();
  const { cursor } = await list();
  const { keyId, apiId } = await service.createKey({ meta: { text: 'é'.repeat(8170) } });
  await service.ok('/v1/keys.updateKey', { keyId, meta: { text: 'è'.repeat(8170) } });
  const { events } = await list({ cursor, types: 'key.updated' });
  expect(events.map(({ data }) => data)).toEqual([{ keyId, apiId, truncated: true }]);
});

test('old events are removed in the background', async () => {
  const service = using();
  await service.createKey();
  const { engine, clock } = service;
  const log = { info() {}, warn() {}, error() {} };
  const { tasks } = engineTasks({
    engine,
    syncIntervalMs: 250,
    log,
    wallClockMs: clock.nowMs,
    monotonicMs: clock.nowMs,
  });
  const prune = tasks.find(({ name }) => name === 'removing old events');
  const turn = { rest: async () => true, until: async () => {} };
  clock.advance(5 * 86_400_000 - 1);
  await prune?.run(turn);
  expect((await list()).events.length).toBeGreaterThan(0);
  clock.advance(1);
  await prune?.run(turn);
  expect((await list()).events).toEqual([]);
});

test('nothing is removed from a database that is closed', async () => {
  const service = using();
  const { events } = service.storage;
  await service.stop();
  expect(events.prune(0)).rejects.toThrow('The database could not be written (the database is closed).');
});
