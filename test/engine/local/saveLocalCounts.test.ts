import { describe, expect, test } from 'bun:test';

import { LocalCountSaving } from '../../../src/engine/local/saveLocalCounts.ts';

/** The task on a clock that only saves move: each takes so long. */
class SavingSetup {
  nowMs = 0;
  unsavedSize = 20_000;
  saveMs = 100;
  saves = 0;
  looks = 0;
  waits = 0;
  fails = false;
  isShared = false;
  isAlone = true;
  readonly task = new LocalCountSaving({
    localLimits: this,
    localCounts: this,
    nowMs: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    wallClockMs: () => this.nowMs,
    everyMs: 1_000,
  });

  constructor(fields: Partial<SavingSetup> = {}) {
    Object.assign(this, fields);
  }

  tidy(): void {}

  async untilUnsaved(): Promise<void> {
    this.waits++;
  }

  async sync(): Promise<void> {
    this.nowMs += this.saveMs;
    if (this.fails) throw new Error('the disk is full');
    this.saves++;
  }

  async syncIfHeard(): Promise<boolean> {
    this.looks++;
    return !this.isAlone;
  }

  async run(): Promise<void> {
    await this.task.run({ rest: async () => true, until: (event) => event });
  }

  /** How long after the start of a save the next one is made. */
  async cycleMs(): Promise<number> {
    const startedAtMs = this.nowMs;
    await this.run();
    for (this.saves = 0; this.saves === 0;) {
      this.nowMs += 10;
      await this.run();
    }
    return this.nowMs - this.saveMs - startedAtMs;
  }
}

describe('saving local counts', () => {
  test('on one machine takes a twentieth of the time, and begins every 20 s at the latest', async () => {
    expect(await new SavingSetup().cycleMs()).toBe(2_100);
    expect(await new SavingSetup({ saveMs: 5_000 }).cycleMs()).toBe(20_000);
  });

  test('of a shared database a lone node takes a fiftieth; at most 20 s of counts are not saved', async () => {
    expect(await new SavingSetup({ isShared: true }).cycleMs()).toBe(5_100);
    expect(await new SavingSetup({ isShared: true, saveMs: 400 }).cycleMs()).toBe(20_000);
    expect(await new SavingSetup({ isShared: true, saveMs: 60_000 }).cycleMs()).toBe(60_010);
  });

  test('meanwhile the lone node looks for other nodes; it counts no such look as a save', async () => {
    const setup = new SavingSetup({ isShared: true });
    await setup.run();
    setup.nowMs += 1_000;
    await setup.run();
    expect([setup.saves, setup.looks, setup.task.lagMs]).toEqual([1, 1, 1_100]);
  });

  test('other nodes are told at every turn, however long it takes; so are few counts', async () => {
    expect(await new SavingSetup({ isShared: true, isAlone: false, saveMs: 3_000 }).cycleMs()).toBe(3_010);
    expect(await new SavingSetup({ isShared: true, unsavedSize: 100, saveMs: 3_000 }).cycleMs()).toBe(3_010);
    expect(await new SavingSetup({ isShared: true, unsavedSize: 101, saveMs: 300 }).cycleMs()).toBe(15_300);
  });

  test('on one machine an idle process saves nothing and waits for a count', async () => {
    const setup = new SavingSetup({ unsavedSize: 0 });
    await setup.run();
    expect([setup.saves, setup.waits, setup.task.lagMs]).toEqual([0, 1, null]);
  });

  test('a save that failed is tried again after 5 s', async () => {
    const setup = new SavingSetup({ fails: true });
    expect(await setup.run().catch(String)).toContain('the disk is full');
    setup.fails = false;
    setup.nowMs += 4_999;
    await setup.run();
    expect(setup.saves).toBe(0);
    setup.nowMs += 1;
    await setup.run();
    expect(setup.saves).toBe(1);
  });
});
