import { describe, expect, test } from 'bun:test';
import { EventEmitter } from 'node:events';

import type { RecordChange } from '../../../../src/storage/port/freshness.ts';
import { StorageUnavailable } from '../../../../src/storage/port/storage.ts';
import { LedgerClock } from '../../../../src/storage/postgres/connection/ledgerClock.ts';
import type { Connector } from '../../../../src/storage/postgres/connection/connector.ts';
import { Durability } from '../../../../src/storage/postgres/connection/durability.ts';
import {
  openSessions,
  PostgresFreshness,
  LastSeenChange,
} from '../../../../src/storage/postgres/freshness/freshness.ts';
import { VirtualClock } from '../../../support/clock.ts';

const HOUR_MS = 3_600_000;
const STALE_MAX_MS = 1_000;
/** Polls that one confirmation waits for. */
const MAX_POLLS = 5;

/** A connection whose polls are answered when the test says so. */
class Line extends EventEmitter {
  readonly polls: PromiseWithResolvers<unknown>[] = [];

  query(query: string | { text: string }): Promise<unknown> {
    if (typeof query === 'string') return Promise.resolve({ rows: [] });
    const poll = Promise.withResolvers<unknown>();
    this.polls.push(poll);
    return poll.promise;
  }

  async end(): Promise<void> {}
}

/** A machine with both its clocks, and a freshness whose database it talks to. */
class Setup implements AsyncDisposable {
  readonly wall = new VirtualClock('2026-03-15T12:00:00Z');
  readonly monotonic = new VirtualClock(70_000);
  readonly line = new Line();
  readonly freshness: PostgresFreshness;

  constructor() {
    const clocks = { monotonicMs: this.monotonic.nowMs, wallClockMs: this.wall.nowMs };
    const connector = { timeline: 1, sessionName: 'test', connect: async () => this.line } as unknown as Connector;
    const clock = new LedgerClock(clocks, false);
    // Chance says when it polls by itself: not during the test.
    const durability = new Durability(false);
    const lastSeenChange = new LastSeenChange();
    const options = { ...clocks, clock, durability, lastSeenChange, staleMaxMs: STALE_MAX_MS, random: () => 1e6 };
    this.freshness = new PostgresFreshness(openSessions(connector, options), options);
  }

  static async start(): Promise<Setup> {
    const setup = new Setup();
    const started = setup.freshness.start();
    await setup.answer();
    await started;
    // The channel that it listens on makes it poll once more.
    await setup.answer();
    await turn();
    return setup;
  }

  pass(milliseconds: number): void {
    this.wall.advance(milliseconds);
    this.monotonic.advance(milliseconds);
  }

  /** The next poll reaches the database; its answer arrives when `meanwhile` has happened. */
  async answer(meanwhile: () => void = () => {}, news: readonly number[] = []): Promise<void> {
    while (this.line.polls.length === 0) await turn();
    const poll = this.line.polls.shift();
    const facts = { fsync: true, full_page_writes: true, awaits_standby: false };
    const changes = news.map((number) => ({ number, keys: [`key ${number}`], root_keys: false, subjects: null }));
    const row = { ...facts, last: news.at(-1) ?? 1, token: 'a', now: this.wall.nowMs(), timeline: 1, changes };
    meanwhile();
    poll?.resolve({ rows: [row] });
    await turn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.freshness.close();
    for (const poll of this.line.polls.splice(0)) poll.reject(new Error('closed'));
  }
}

const turn = (): Promise<void> => new Promise((go) => setImmediate(go));

/** What has become of it. */
async function stateOf(work: Promise<void>): Promise<string> {
  let state = 'waits';
  work.then(
    () => (state = 'fresh'),
    (error: unknown) => (state = error instanceof StorageUnavailable ? error.message : String(error)),
  );
  for (let i = 0; i < 5; i++) await turn();
  return state;
}

describe('waiting for a confirmation', () => {
  test('ends with the answer to one poll, however many wait', async () => {
    await using setup = await Setup.start();
    setup.pass(STALE_MAX_MS);
    expect(setup.freshness.mayUseCache()).toBe(false);
    const waiting = [setup.freshness.confirm(), setup.freshness.confirm(), setup.freshness.confirm()];
    await turn();
    expect(setup.line.polls.length).toBe(1);
    await setup.answer(() => setup.pass(40));
    expect(await Promise.all(waiting.map(stateOf))).toEqual(['fresh', 'fresh', 'fresh']);
    expect([setup.freshness.ageMs, setup.freshness.mayUseCache()]).toEqual([40, true]);
  });

  test.each([
    ['the machine sleeps', (setup: Setup) => setup.wall.advance(HOUR_MS)],
    ['the answer takes longer than knowledge may be old', (setup: Setup) => setup.pass(STALE_MAX_MS)],
  ])('goes on when %s while the answer is under way: it tells of the time before', async (_, happens) => {
    await using setup = await Setup.start();
    setup.pass(STALE_MAX_MS);
    const waiting = setup.freshness.confirm();
    await setup.answer(() => happens(setup));
    expect([await stateOf(waiting), setup.freshness.mayUseCache()]).toEqual(['waits', false]);
    await setup.answer(() => setup.pass(40));
    expect([await stateOf(waiting), setup.freshness.ageMs]).toEqual(['fresh', 40]);
  });

  test('does not rely on a poll that was sent before the machine slept', async () => {
    await using setup = await Setup.start();
    const before = setup.freshness.confirm();
    await turn();
    setup.wall.advance(HOUR_MS);
    const after = setup.freshness.confirm();
    // Sent before the sleep, answered after it.
    await setup.answer();
    expect([await stateOf(after), setup.freshness.mayUseCache()]).toEqual(['waits', false]);
    await setup.answer();
    expect([await stateOf(before), await stateOf(after)]).toEqual(['fresh', 'fresh']);
  });

  test('does not rely on a poll that was sent as long ago as knowledge may be old', async () => {
    for (const [ageMs, polls] of [
      [STALE_MAX_MS - 1, 1],
      [STALE_MAX_MS, 2],
    ] as const) {
      await using setup = await Setup.start();
      void setup.freshness.confirm().catch(() => {});
      await turn();
      setup.pass(ageMs);
      const waiting = setup.freshness.confirm();
      await setup.answer();
      expect([ageMs, await stateOf(waiting)]).toEqual([ageMs, polls === 1 ? 'fresh' : 'waits']);
    }
  });

  test('is given up after five polls, when the clock is set during each of them', async () => {
    await using setup = await Setup.start();
    setup.pass(STALE_MAX_MS);
    const waiting = setup.freshness.confirm();
    for (let i = 0; i < MAX_POLLS; i++) {
      expect([i, await stateOf(waiting)]).toEqual([i, 'waits']);
      await setup.answer(() => setup.wall.advance(HOUR_MS));
    }
    expect(await stateOf(waiting)).toBe(
      'The database takes longer to answer than KEYSTILE_STALE_MAX (1000 ms), or the clock of this machine is being set. ' +
        'This node cannot tell whether its keys have changed.',
    );
  });
});

describe('knowledge', () => {
  test('is as old as the poll that confirmed it, from its sending', async () => {
    await using setup = await Setup.start();
    const waiting = setup.freshness.confirm();
    await setup.answer(() => setup.pass(300));
    expect([await stateOf(waiting), setup.freshness.ageMs]).toEqual(['fresh', 300]);
    setup.wall.advance(-HOUR_MS);
    expect(setup.freshness.ageMs).toBe(300);
    setup.wall.advance(HOUR_MS + 500);
    expect(setup.freshness.ageMs).toBe(800);
  });
});

test('polls that overlap bring each change once, and nothing else is dropped', async () => {
  await using setup = await Setup.start();
  const heard: RecordChange['keys'][] = [];
  setup.freshness.onChange(({ keys }) => heard.push(keys));
  setup.pass(STALE_MAX_MS);
  const first = setup.freshness.confirm();
  await turn();
  // The first poll is too old for this one, which asks from the same number on.
  setup.pass(STALE_MAX_MS);
  const second = setup.freshness.confirm();
  await setup.answer(undefined, [2, 3, 4]);
  await setup.answer(undefined, [2, 3, 4, 5]);
  await Promise.all([first, second]);
  expect(heard).toEqual([['key 2', 'key 3', 'key 4'], ['key 5']]);
});
