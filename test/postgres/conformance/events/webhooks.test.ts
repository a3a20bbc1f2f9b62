import { expect, test } from 'bun:test';

import { MAX_DELIVERY_LOG, MAX_WEBHOOKS } from '../../../../src/core/bounds.ts';
import type { WebhookRecord } from '../../../../src/core/records.ts';
import type { Claim, NewEvent, StoredEvent, TryOutcome } from '../../../../src/storage/port/events.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { write } from '../samples.ts';

const LEASE_MS = 1000;

function webhook(id: string, fields: Partial<WebhookRecord> = {}): WebhookRecord {
  return {
    id,
    url: 'https://example.com/?a=1',
    types: null,
    apiIds: null,
    enabled: true,
    pausedAtMs: null,
    pausedBecause: null,
    secret: 'sealed',
    formerSecret: null,
    formerUntilMs: null,
    createdAtMs: 1,
    updatedAtMs: null,
    revision: 0,
    ...fields,
  };
}

async function makeEvents(storage: Storage, count: number): Promise<readonly StoredEvent[]> {
  const after = await storage.events.last();
  const events = Array.from({ length: count }, (_, i): NewEvent => ({
    id: `evt_${after + i}`,
    type: 'key.created',
    data: `{"n":${i}}`,
  }));
  await storage.ledger.apply({ writes: [], accounts: [], events });
  return storage.events.list({ after, types: null, limit: count });
}

/** A webhook with this many events that wait. */
async function withWaiting(storage: Storage, count: number, id = 'wh_1'): Promise<readonly StoredEvent[]> {
  await write(storage, { kind: 'insertWebhook', webhook: webhook(id) });
  const events = await makeEvents(storage, count);
  const [work] = await storage.webhooks.findWork();
  const step = { webhookId: id, revision: 0, from: work?.queuedTo ?? 0, to: events.at(-1)?.sequence ?? 0, events };
  expect(await storage.webhooks.enqueue({ ...step, nowMs: storage.ledger.nowMs() })).toBe(true);
  return events;
}

const claimOf = (storage: Storage, lease: string, fields: Partial<Claim> = {}): Claim => ({
  webhookId: 'wh_1',
  limit: 10,
  lease,
  nowMs: storage.ledger.nowMs(),
  leaseMs: LEASE_MS,
  ...fields,
});

const sequences = (list: readonly { readonly sequence: number }[]) => list.map(({ sequence }) => sequence);

const DELIVERED: TryOutcome = {
  state: 'delivered',
  dueAtMs: 0,
  atMs: 5,
  failingSinceMs: null,
  status: 204,
  error: null,
};

describePort('webhooks', (setup) => {
  test('a webhook is kept as it was written, changed under its revision, and goes with all that waits for it', async () => {
    const first = webhook('wh_1', {
      types: ['key.created'],
      pausedAtMs: 5,
      pausedBecause: "it's 500",
      formerSecret: 'old',
      formerUntilMs: 9,
      updatedAtMs: 7,
      revision: 3,
    });
    await write(setup().storage, { kind: 'insertWebhook', webhook: first });
    await setup().reopen();
    const { storage } = setup();
    expect(await storage.webhooks.find('wh_1')).toEqual(first);
    expect(await storage.webhooks.findWork()).toEqual([]);
    expect(await storage.webhooks.findWorkOf('wh_1')).toBeNull();
    const changed = webhook('wh_1', { revision: 4 });
    const update = (expect_: number) =>
      write(storage, { kind: 'updateWebhook', webhook: changed, expect: expect_, resumesAtMs: null });
    expect([(await update(2)).status, (await update(3)).status]).toEqual(['stale', 'done']);
    expect(await storage.webhooks.list()).toEqual([changed]);
    expect(await storage.webhooks.find('wh_2')).toBeNull();
    const events = await makeEvents(storage, 1);
    const queued = { webhookId: 'wh_1', revision: 4, from: 0, to: events[0]?.sequence ?? 0, events, nowMs: 0 };
    // Events that were chosen for an earlier state of it are chosen again.
    expect(await storage.webhooks.enqueue({ ...queued, revision: 3 })).toBe(false);
    expect(await storage.webhooks.findWorkOf('wh_1')).toEqual({ webhook: changed, queuedTo: 0, dueAtMs: null });
    expect(await storage.webhooks.enqueue(queued)).toBe(true);
    const remove = (expect_: number) => write(storage, { kind: 'removeWebhook', webhookId: 'wh_1', expect: expect_ });
    expect([(await remove(3)).status, (await remove(4)).status]).toEqual(['stale', 'done']);
    expect(await storage.webhooks.countWaiting('wh_1', 10)).toBe(0);
  });

  test.each([
    { types: null, apiIds: null },
    { types: ['key.created'], apiIds: null },
    { types: null, apiIds: ['api_1', 'api_2'] },
    { types: ['key.created', 'key.deleted'], apiIds: ['api_1'] },
  ])('what a webhook gets is kept: %p', async (wanted) => {
    const first = webhook('wh_1', wanted);
    await write(setup().storage, { kind: 'insertWebhook', webhook: first });
    await setup().reopen();
    expect(await setup().storage.webhooks.find('wh_1')).toEqual(first);
  });

  test('a webhook is asked about the events from its creation on, and of two nodes one puts them in its queue', async () => {
    const { storage } = setup();
    const [before] = await makeEvents(storage, 1);
    const events = await withWaiting(storage, 3);
    const [work] = await storage.webhooks.findWork();
    expect(work).toMatchObject({ queuedTo: events[2]?.sequence ?? 0, dueAtMs: storage.ledger.nowMs() });
    expect(sequences(events)).not.toContain(before?.sequence);
    const more = await makeEvents(storage, 2);
    const step = {
      webhookId: 'wh_1',
      revision: 0,
      from: work?.queuedTo ?? 0,
      to: more[1]?.sequence ?? 0,
      events: more,
      nowMs: 1,
    };
    const both = await Promise.all([storage.webhooks.enqueue(step), storage.webhooks.enqueue(step)]);
    expect(both.toSorted()).toEqual([false, true]);
    expect(await storage.webhooks.countWaiting('wh_1', 10)).toBe(5);
    expect(await storage.webhooks.countWaiting('wh_1', 4)).toBe(4);
  });

  test('a target fails since the first of the waiting deliveries that it refused, also while newer ones wait', async () => {
    const { storage, clock } = setup();
    await write(storage, { kind: 'insertWebhook', webhook: webhook('wh_2') });
    await withWaiting(storage, 3);
    expect(await storage.webhooks.listFailing()).toEqual(new Map());
    const [first, second] = await storage.webhooks.claim(claimOf(storage, 'a'));
    if (first === undefined || second === undefined) throw new Error('nothing was claimed');
    const refused = { ...DELIVERED, state: 'waiting', dueAtMs: clock.nowMs() + 7 } as const;
    await storage.webhooks.finish(first, 'a', { ...refused, failingSinceMs: 3 });
    await storage.webhooks.finish(second, 'a', { ...refused, failingSinceMs: 9 });
    expect(await storage.webhooks.listFailing()).toEqual(new Map([['wh_1', 3]]));
  });

  test('each delivery is sent by one node: claims at the same time share them, and a lease that has ended gives them back', async () => {
    const { storage, clock } = setup();
    const events = await withWaiting(storage, 9);
    const claims = await Promise.all(
      ['a', 'b', 'c', 'd'].map((lease) => storage.webhooks.claim(claimOf(storage, lease, { limit: 3 }))),
    );
    expect(claims.flatMap(sequences).toSorted((a, b) => a - b)).toEqual(sequences(events));
    expect(claims.flat().find(({ sequence }) => sequence === events[4]?.sequence)?.event).toEqual(events[4] as never);
    clock.advance(LEASE_MS - 1);
    expect(await storage.webhooks.claim(claimOf(storage, 'e'))).toEqual([]);
    clock.advance(1);
    const again = await storage.webhooks.claim(claimOf(storage, 'f'));
    expect(sequences(again)).toEqual(sequences(events));
    // The node that was late says nothing any more; the one that holds the lease does.
    const [late] = claims.flat();
    if (late === undefined) throw new Error('nothing was claimed');
    await storage.webhooks.finish(late, 'a', DELIVERED);
    expect(await storage.webhooks.countWaiting('wh_1', 10)).toBe(9);
    await storage.webhooks.finish(late, 'f', DELIVERED);
    const failed = { ...DELIVERED, state: 'waiting', dueAtMs: clock.nowMs() + 7, failingSinceMs: 3 } as const;
    const second = again.find(({ sequence }) => sequence !== late.sequence);
    if (second === undefined) throw new Error('nothing was claimed');
    await storage.webhooks.finish(second, 'f', { ...failed, status: 500, error: 'The target answered 500.' });
    const query = { webhookId: 'wh_1', limit: 20, before: null };
    expect(await storage.webhooks.listDeliveries({ ...query, state: 'delivered' })).toMatchObject([
      { sequence: late.sequence, attempts: 1, lastAtMs: 5, lastStatus: 204, lastError: null },
    ]);
    clock.advance(7);
    const [due, ...others] = await storage.webhooks.claim(claimOf(storage, 'g'));
    expect(others).toEqual([]);
    expect(due).toMatchObject({ sequence: second.sequence, attempts: 1, failingSinceMs: 3, lastStatus: 500 });
    const newest = await storage.webhooks.listDeliveries({ ...query, state: null, limit: 2 });
    const next = await storage.webhooks.listDeliveries({ ...query, state: null, before: newest[1]?.sequence ?? 0 });
    expect([...sequences(newest), ...sequences(next)]).toEqual(sequences(events).toReversed());
    // What is given back is due at once, and counts as no try. What was finished, or is held by another, stays.
    await storage.webhooks.release('wh_1', 'f', clock.nowMs());
    const released = await storage.webhooks.claim(claimOf(storage, 'h'));
    const unfinished = sequences(again).filter((each) => each !== late.sequence && each !== second.sequence);
    expect(released.map(({ sequence, attempts }) => [sequence, attempts])).toEqual(unfinished.map((each) => [each, 0]));
  });

  test('the log keeps a bounded number, resuming makes what waits due, and an event can be delivered again', async () => {
    const { storage, clock } = setup();
    const events = await withWaiting(storage, MAX_DELIVERY_LOG + 5);
    const claimed = await storage.webhooks.claim(claimOf(storage, 'a', { limit: MAX_DELIVERY_LOG + 4 }));
    for (let i = 0; i < claimed.length; i += 50) {
      await Promise.all(claimed.slice(i, i + 50).map((each) => storage.webhooks.finish(each, 'a', DELIVERED)));
    }
    const more = await makeEvents(storage, 1);
    const [from = 0, to = 0] = [events.at(-1)?.sequence, more[0]?.sequence];
    const later = clock.nowMs() + 1_000_000;
    await storage.webhooks.enqueue({ webhookId: 'wh_1', revision: 0, from, to, events: more, nowMs: later });
    const query = { webhookId: 'wh_1', limit: 2000, before: null };
    expect((await storage.webhooks.listDeliveries({ ...query, state: 'delivered' })).length).toBe(MAX_DELIVERY_LOG);
    expect((await storage.webhooks.listDeliveries({ ...query, state: 'waiting' })).length).toBe(2);
    expect((await storage.webhooks.claim(claimOf(storage, 'b'))).length).toBe(1);
    const resumed = { webhook: webhook('wh_1', { revision: 1 }), expect: 0, resumesAtMs: clock.nowMs() };
    await write(storage, { kind: 'updateWebhook', ...resumed });
    // What another node sends at the moment is left to it.
    expect(sequences(await storage.webhooks.claim(claimOf(storage, 'c')))).toEqual([to]);
    // One that the log has forgotten, and one that it knows.
    for (const event of [events[0], events[900]]) {
      const again = { kind: 'redeliver', webhookId: 'wh_1', eventId: event?.id ?? '', atMs: clock.nowMs() } as const;
      expect((await write(storage, again)).status).toBe('done');
      expect((await storage.webhooks.claim(claimOf(storage, `d ${event?.id}`))).map(({ eventId }) => eventId)).toEqual([
        event?.id ?? '',
      ]);
    }
    const absent = { kind: 'redeliver', webhookId: 'wh_1', eventId: 'evt_none', atMs: 0 } as const;
    expect((await write(storage, absent)).status).toBe('stale');
  });

  test('every webhook is worked on, also where calls at the same time have made more than the bound', async () => {
    const { storage } = setup();
    const ids = Array.from({ length: MAX_WEBHOOKS + 1 }, (_, i) => `wh_${String(i).padStart(3, '0')}`);
    for (const id of ids) await write(storage, { kind: 'insertWebhook', webhook: webhook(id) });
    expect((await storage.webhooks.findWork()).map((work) => work.webhook.id)).toEqual(ids);
  });

  test('two nodes share the work: each event reaches the target, and none twice while both live', async () => {
    const { storage } = setup();
    const sent: string[] = [];
    const options = {
      secretBox: { seal: (text: string) => text, open: (text: string) => text },
      outgoing: {
        refusal: async () => null,
        send: async ({ id }: { readonly id: string }) => {
          sent.push(id);
          return { status: 200 };
        },
      },
    };
    const [one, two] = [engineOn(storage, options), engineOn(storage, options)];
    const actor = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };
    await one.webhooks.create(actor, { url: 'https://example.com' });
    const events = await makeEvents(storage, 130);
    const log = { warn: (message: string) => sent.push(message) };
    for (let i = 0; i < 3; i++) {
      await Promise.all([one.deliverEvents.run(log), two.deliverEvents.run(log)]);
      await Promise.all([one.deliverEvents.idle(), two.deliverEvents.idle()]);
    }
    expect(sent.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
  });
});
