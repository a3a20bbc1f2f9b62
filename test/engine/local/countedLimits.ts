import { AppError } from '../../../src/core/errors.ts';
import { LocalLimits, type LocalCharge, type LocalOwner } from '../../../src/engine/localLimits.ts';
import type { LocalCount, LoadedCount } from '../../../src/storage/port/storage.ts';
import { VirtualClock } from '../../support/clock.ts';

/** Local limits over counts that are saved in memory. */

export const SECOND_MS = 1000;

/** Goes with what a test touches. */
export const clock = new VirtualClock(0);

/** Saved counts as a database keeps them. */
export class SavedCounts {
  readonly rows = new Map<string, LocalCount>();
  saves: number[] = [];
  loads = 0;
  failing = false;

  isShared = false;
  forgotten: () => void = () => {};
  /** What other nodes have admitted, told once. */
  others: LocalCount[] = [];

  async load(owner: string): Promise<readonly LoadedCount[]> {
    this.loads++;
    return [...this.rows.values()].filter((row) => row.owner === owner).map((row) => ({ ...row, others: 0 }));
  }

  onForgotten(listener: () => void): void {
    this.forgotten = listener;
  }

  async sync(counts: readonly LocalCount[]): Promise<readonly LocalCount[]> {
    if (this.failing) throw new Error('no space');
    this.saves.push(counts.length);
    for (const count of counts) this.rows.set(JSON.stringify([count.owner, count.name, count.durationMs]), count);
    return this.others.splice(0);
  }
}

export function make(maxOwners = 100): { localLimits: LocalLimits; saved: SavedCounts } {
  const saved = new SavedCounts();
  clock.set(5_000);
  return { localLimits: localLimitsOn(saved, maxOwners), saved };
}

export function localLimitsOn(saved: SavedCounts, maxOwners = 100): LocalLimits {
  return new LocalLimits(saved, { nowMs: clock.nowMs, maxOwners });
}

export function ownerIn(localLimits: LocalLimits, id = 'key_1'): LocalOwner {
  const owner = localLimits.owner(id);
  if (owner === undefined) throw new Error(`${id} is not loaded`);
  return owner;
}

export function chargeOf(
  localLimits: LocalLimits,
  nowMs: number,
  fields: { cost?: number; limit?: number; name?: string; isAdHoc?: boolean } = {},
): LocalCharge {
  clock.set(nowMs);
  const window = localLimits.window(
    ownerIn(localLimits),
    { name: fields.name ?? 'default', durationMs: SECOND_MS, isAdHoc: fields.isAdHoc ?? false },
    nowMs,
  );
  return { window, limit: fields.limit ?? 3, cost: fields.cost ?? 1, resetAtMs: window.resetAtMs };
}

export async function codeOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}
