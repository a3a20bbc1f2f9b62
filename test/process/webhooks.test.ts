import { expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { Receiver } from '../http/webhooks/receiver.ts';
import { timesAsMany } from '../support/runs.ts';
import { TempFolder } from './process.ts';
import { Server } from './server.ts';

const KILLS = timesAsMany(3);
/** Keys that each life of the process creates at least. */
const KEYS = 30;

interface Page {
  readonly events: readonly {
    readonly id: string;
    readonly type: string;
    readonly data: { readonly keyId?: string };
  }[];
  readonly cursor: string;
}

async function allEvents(server: Server): Promise<Page['events'][number][]> {
  const events: Page['events'][number][] = [];
  for (let cursor = '0'; ;) {
    const page = (await server.ok('/v1/events.listEvents', { cursor })) as Page;
    if (page.events.length === 0) return events;
    events.push(...page.events);
    cursor = page.cursor;
  }
}

test('the target receives every event at least once, across kills of the process, and none without its change', async () => {
  using folder = new TempFolder();
  using sink = new Receiver();
  const created: string[] = [];
  let [secret, apiId] = ['', ''];
  /** Requests that the killed processes had no answer to. */
  let unanswered = 0;
  for (let life = 0; life <= KILLS; life++) {
    const isLast = life === KILLS;
    // Every third event gets no answer while this process lives: the kill hits in the middle of it.
    let asked = 0;
    let cut = 0;
    sink.answer = () => (isLast || ++asked % 3 !== 0 ? new Response() : (cut++, new Promise<Response>(() => {})));
    await using server = await Server.start(folder, { settings: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' } });
    if (life === 0) {
      ({ apiId } = await server.ok('/v1/apis.createApi', { name: 'end to end' }));
      ({ secret } = await server.ok('/v1/webhooks.createWebhook', { url: sink.url }));
    }
    const create = async (): Promise<void> => {
      const { keyId } = (await server.ok('/v1/keys.createKey', { apiId })) as { keyId: string };
      created.push(keyId);
    };
    for (let i = 0; i < KEYS; i += 10) await Promise.all(Array.from({ length: 10 }, create));
    if (isLast) {
      const events = await allEvents(server);
      const ids = events.map(({ id }) => id);
      await until('every event was received', () =>
        new Set(sink.received.map(({ id }) => id)).isSupersetOf(new Set(ids)),
      );
      const told = events.filter(({ type }) => type === 'key.created').map(({ data }) => data.keyId ?? '');
      expect(new Set(told).isSupersetOf(new Set(created))).toBe(true);
      expect(new Set(sink.received.map(({ id }) => id)).isSubsetOf(new Set(ids))).toBe(true);
    } else {
      await until('an event is under way', () => cut > 0);
      const more = Array.from({ length: 10 }, () => create().catch(() => {}));
      await server.child.kill9();
      await Promise.all(more);
      unanswered += cut;
    }
  }
  expect(unanswered).toBeGreaterThanOrEqual(KILLS);
  const times = Map.groupBy(sink.received, ({ id }) => id);
  expect([...times.values()].filter((each) => each.length > 1).length).toBeGreaterThanOrEqual(1);
  expect(sink.received.filter(({ signedBy }) => signedBy([secret]).length !== 1)).toEqual([]);
});
