import type { LocalOwner } from '../../local/localWindow.ts';
import type { PlanWindows } from '../keyEntry.ts';
import type { PlanSlot } from '../planEntry.ts';
import { Companions } from './sharedValues.ts';

/** The objects that packed rows refer to, each for those rows that need it. */
export class RowCompanions {
  readonly plans = new Companions<PlanSlot>();
  readonly locals = new Companions<LocalOwner>();
  readonly windows = new Companions<PlanWindows>();

  drop(row: number): void {
    for (const each of [this.plans, this.locals, this.windows]) each.put(row, null);
  }

  /** A row has moved here. Its plan moves with it. Cached objects are not moved; they are rebuilt on use. */
  adopt(row: number, from: RowCompanions, formerRow: number): void {
    this.plans.put(row, from.plans.at(formerRow));
  }
}
