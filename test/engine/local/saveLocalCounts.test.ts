import { describe, expect, test } from 'bun:test';

import { LocalCountSaving } from '../../../src/engine/local/localLimits.ts';

/** The task on a clock that only saves move: each takes so long. */
class SavingSetup {
  nowMs = 0;
  unsavedSize = 20_000;
  saveMs = 100;
  saves = 0;
  waits = 0;
  fails = false;
  isShared = false;
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

  test('on a shared database other nodes are told at every turn, however long it takes', async () => {
    expect(await new SavingSetup({ isShared: true, saveMs: 3_000 }).cycleMs()).toBe(3_010);
    expect(await new SavingSetup({ isShared: true, unsavedSize: 0 }).cycleMs()).toBe(110);
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
