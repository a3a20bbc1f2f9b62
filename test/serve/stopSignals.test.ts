import { beforeEach, describe, expect, test } from 'bun:test';

import { readConfig } from '../../src/config/read.ts';
import { EXIT } from '../../src/serve/exit.ts';
import { DEFAULT_STOP_DELAY_MS, SAME_SIGNAL_WITHIN_MS, stopDelayOf, StopSignals } from '../../src/serve/stopSignals.ts';
import { VirtualClock } from '../support/clock.ts';

const DELAY_MS = 5_000;

let clock: VirtualClock;
let timers: { readonly dueMs: number; readonly ring: () => void }[];
/** What has happened, in its order. */
let seen: string[];

beforeEach(() => {
  clock = new VirtualClock(0);
  timers = [];
  seen = [];
});

function start(delayMs: number): StopSignals {
  return new StopSignals({
    delayMs,
    monotonicMs: clock.nowMs,
    after: (milliseconds, ring) => timers.push({ dueMs: clock.nowMs() + milliseconds, ring }),
  });
}

function follow(stop: StopSignals): void {
  void stop.followed(() => seen.push('leaving')).then((code) => seen.push(`over with ${code}`));
}

/** Moves the clock, and lets what is due then happen. */
async function pass(milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  const due = timers.filter(({ dueMs }) => dueMs <= clock.nowMs());
  timers = timers.filter((timer) => !due.includes(timer));
  for (const { ring } of due) ring();
  await Promise.resolve();
}

describe('with a delay', () => {
  test('the service says that it leaves, and goes on until the delay has passed', async () => {
    const stop = start(DELAY_MS);
    follow(stop);
    await pass(60_000);
    expect(seen).toEqual([]);
    stop.signal();
    await pass(DELAY_MS - 1);
    expect(seen).toEqual(['leaving']);
    await pass(1);
    expect(seen).toEqual(['leaving', `over with ${EXIT.OK}`]);
  });

  test('a second signal ends it at once', async () => {
    const stop = start(DELAY_MS);
    follow(stop);
    stop.signal();
    await pass(SAME_SIGNAL_WITHIN_MS);
    stop.signal();
    await pass(0);
    expect(seen).toEqual(['leaving', `over with ${EXIT.OK}`]);
  });

  test('one that comes twice, from the terminal and from the launcher, is one signal', async () => {
    const stop = start(DELAY_MS);
    follow(stop);
    stop.signal();
    await pass(SAME_SIGNAL_WITHIN_MS - 1);
    stop.signal();
    await pass(0);
    expect(seen).toEqual(['leaving']);
  });

  test('a failure ends it at once, with its code', async () => {
    const stop = start(DELAY_MS);
    follow(stop);
    stop.signal();
    stop.fail(EXIT.DISK_FAILED);
    await pass(DELAY_MS);
    expect(seen).toEqual(['leaving', `over with ${EXIT.DISK_FAILED}`]);
  });

  test('a signal during the start is followed when the start is done; the delay counts from the signal', async () => {
    const stop = start(DELAY_MS);
    stop.signal();
    await pass(DELAY_MS - 1);
    follow(stop);
    await pass(0);
    expect(seen).toEqual(['leaving']);
    await pass(1);
    expect(seen).toEqual(['leaving', `over with ${EXIT.OK}`]);
  });
});

test('without a delay the first signal ends the service', async () => {
  const stop = start(0);
  follow(stop);
  stop.signal();
  await pass(0);
  expect([seen, timers]).toEqual([['leaving', `over with ${EXIT.OK}`], []]);
});

describe('how long the delay is', () => {
  test.each([
    ['none on this machine', {}, 0],
    ['that of a balancer on a public address', { KEYSTILE_HOST: '0.0.0.0' }, DEFAULT_STOP_DELAY_MS],
    ['that of a balancer behind a trusted proxy', { KEYSTILE_TRUSTED_PROXIES: '127.0.0.1' }, DEFAULT_STOP_DELAY_MS],
    ['what was set, in front of everything else', { KEYSTILE_HOST: '0.0.0.0', KEYSTILE_STOP_DELAY: '0' }, 0],
    ['what was set, also on this machine', { KEYSTILE_STOP_DELAY: '2m' }, 120_000],
  ])('%s', (_, environment, expected) => {
    const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
    expect(config === null ? null : stopDelayOf(config)).toBe(expected);
  });
});
