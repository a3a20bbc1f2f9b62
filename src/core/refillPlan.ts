import type { RefillPlan, RefillStep } from './account.ts';
import { type Epoch, epochAt } from './calendar.ts';
import type { RefillRule } from './records.ts';

/** The plan that applies all boundaries between a mark and the beginning of the running epoch. */
export function planRefill(rule: RefillRule, running: Epoch, markMs: number): RefillPlan {
  const { number, startMs, nextMs } = running;
  const times = markMs >= startMs ? 0 : number - epochAt(rule, markMs).number;
  return { startMs, nextMs, fromMs: markMs, steps: [toStep(rule, times)] };
}

export function toStep({ mode, amount, max }: RefillRule, times: number): RefillStep {
  return { mode, amount, max, times };
}
