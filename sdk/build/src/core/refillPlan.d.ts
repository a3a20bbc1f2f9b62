import type { RefillPlan, RefillStep } from './account.ts';
import { type Epoch, type Schedule } from './calendar.ts';
import type { RefillRules, RefillVersion } from './records.ts';
/** The calendar, or something that remembers its answers. */
type EpochAt = (schedule: Schedule, atMs: number) => Epoch;
export type RunningEpoch = Pick<RefillPlan, 'startMs' | 'nextMs'>;
/** The epoch that runs under these rules. It begins at the latest boundary, or where the present rule began if that is later. */
export declare function runningEpoch(rules: RefillRules, nowMs: number, at?: EpochAt): RunningEpoch;
/** The plan that applies all boundaries between a mark and now, each under the rule that was in force until its instant. */
export declare function planRefill(rules: RefillRules, markMs: number, nowMs: number, at?: EpochAt): RefillPlan;
/** The plan that applies all boundaries up to an instant, whenever it is carried out. */
export declare function planUntil(rules: RefillRules | null, markMs: number, untilMs: number): RefillPlan;
/** One boundary of the rule in force at an instant. */
export declare function stepAt(rules: RefillRules, atMs: number): RefillStep[];
/** The rule in force at an instant. A clock that is set back before the first rule finds that one, as if it had always been there. */
export declare function versionAt(rules: RefillRules, nowMs: number): RefillVersion;
export {};
