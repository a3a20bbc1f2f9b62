import { describe, expect, test } from 'bun:test';

import { ageMs, instantOf } from '../../../../src/basics/clocks.ts';
import { LedgerClock } from '../../../../src/storage/postgres/connection/ledgerClock.ts';
import { VirtualClock } from '../../../support/clock.ts';

const HOUR_MS = 3_600_000;

/** A machine, and a database whose clock is 5 s ahead of it. */
class Setup {
  readonly wall = new VirtualClock(1_000_000);
  readonly monotonic = new VirtualClock(70_000);
  readonly database = new VirtualClock(1_005_000);
  readonly clocks = { monotonicMs: this.monotonic.nowMs, wallClockMs: this.wall.nowMs };
  readonly clock = new LedgerClock(this.clocks, false);

  pass(milliseconds: number): void {
    for (const clock of [this.wall, this.monotonic, this.database]) clock.advance(milliseconds);
  }

  /** The machine sleeps: its monotonic clock stands still. */
  sleep(milliseconds: number): void {
    for (const clock of [this.wall, this.database]) clock.advance(milliseconds);
  }

  /** An answer that was so long under way, after the question was. */
  ask(thereMs: number, backMs: number, during: () => void = () => {}): void {
    const startedAtMs = this.clock.startMs();
    this.pass(thereMs);
    const toldMs = this.database.nowMs();
    during();
    this.pass(backMs);
    this.clock.observe(startedAtMs, toldMs);
  }

  get errorMs(): number {
    return this.clock.nowMs() - this.database.nowMs();
  }
}

describe('the clock of the ledger', () => {
  test("is the wall clock before the database has told the time, and follows the database's from then on", () => {
    const setup = new Setup();
    expect([setup.clock.nowMs(), setup.clock.offsetMs]).toEqual([1_000_000, 0]);
    setup.ask(50, 50);
    expect([setup.errorMs, setup.clock.offsetMs, setup.clock.givenMs]).toEqual([0, 5_000, null]);
    setup.pass(12_345);
    expect(setup.errorMs).toBe(0);
  });

  test.each([HOUR_MS, -HOUR_MS])('does not move when the wall clock is set by %p ms, at any moment', (stepMs) => {
    const setup = new Setup();
    setup.ask(20, 20);
    const step = (): void => setup.wall.advance(stepMs);
    for (const during of [() => {}, step]) {
      if (during !== step) step();
      expect(setup.errorMs).toBe(0);
      setup.ask(20, 20, during);
      expect(setup.errorMs).toBe(0);
    }
    expect(setup.clock.offsetMs).toBe(5_000 - 2 * stepMs);
  });

  test('is behind after the machine has slept, until the next answer; one that was under way meanwhile does not help', () => {
    const setup = new Setup();
    setup.ask(20, 20);
    setup.ask(20, 20, () => setup.sleep(HOUR_MS));
    expect(setup.errorMs).toBe(-HOUR_MS);
    setup.ask(20, 20);
    expect(setup.errorMs).toBe(0);
  });

  test('is not moved by a slow answer within what that leaves open, and is moved to its localLimits from outside', () => {
    const setup = new Setup();
    setup.ask(5, 5);
    setup.ask(500, 0);
    setup.ask(0, 500);
    expect(setup.errorMs).toBe(0);
    // Another server with another clock.
    setup.database.advance(-60_000);
    setup.ask(400, 100);
    expect(setup.errorMs).toBe(400);
    setup.ask(5, 5);
    expect(setup.errorMs).toBe(0);
  });

  test.each([
    [100, 0, 50],
    [0, 100, -50],
  ])('is wrong by half of the difference of the ways (%p and %p ms): %p ms', (thereMs, backMs, errorMs) => {
    const setup = new Setup();
    setup.ask(thereMs, backMs);
    expect(setup.errorMs).toBe(errorMs);
    // What a spend that took 2 ms was told puts it right.
    const startedAtMs = setup.clock.startMs();
    setup.pass(1);
    const toldMs = setup.database.nowMs();
    setup.pass(1);
    setup.clock.keepWithin(startedAtMs, toldMs);
    expect(setup.errorMs).toBe(Math.sign(errorMs));
  });

  test('tells whole milliseconds', () => {
    const monotonic = { ms: 0.75 };
    const clock = new LedgerClock({ monotonicMs: () => monotonic.ms, wallClockMs: () => 1_000 }, false);
    monotonic.ms = 1.7;
    expect(clock.nowMs()).toBe(1_000);
    monotonic.ms = 1.75;
    expect(clock.nowMs()).toBe(1_001);
  });

  test('of a test is the one it brings, for the database too', () => {
    const clock = new LedgerClock({ monotonicMs: () => 7, wallClockMs: () => 42 }, true);
    clock.observe(0, 9_999);
    clock.keepWithin(0, 9_999);
    expect([clock.offsetMs, clock.nowMs(), clock.givenMs]).toEqual([0, 42, 42]);
  });
});

describe('an age', () => {
  test('is the time that has passed, by the clock that says more', () => {
    const { clocks, wall, monotonic } = new Setup();
    const instant = instantOf(clocks);
    monotonic.advance(300);
    wall.advance(300);
    expect(ageMs(instant, clocks)).toBe(300);
    wall.advance(HOUR_MS);
    expect(ageMs(instant, clocks)).toBe(HOUR_MS + 300);
    wall.advance(-2 * HOUR_MS);
    expect(ageMs(instant, clocks)).toBe(300);
  });
});
