import { rolled } from '../../core/account.ts';
import type { LimitRecord, PlanLimit } from '../../core/records.ts';
import { windowEnd } from '../../core/calendar.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { Ledger, LoadedCount, Storage } from '../../storage/port/storage.ts';

/** What was used of a limit in the running window. */
export interface UsedLimit {
  readonly used: number;
  /** When the window ends. */
  readonly resetAtMs: number;
}

/** What a holder has used of each limit of its plan, in their order. */
export async function readPlanLimits(
  storage: Pick<Storage, 'ledger' | 'localCounts'>,
  owner: string,
  plan: PlanRecord | null,
): Promise<readonly UsedLimit[]> {
  return readUsedLimits(storage, owner, await openedLimits(storage.ledger, owner, plan?.limits ?? []));
}

/** The limits of a plan with the accounts that the holder has opened for them; null = it has not used the limit yet. */
function openedLimits(ledger: Ledger, owner: string, limits: readonly PlanLimit[]): Promise<LimitRecord[]> {
  return Promise.all(
    limits.map(async (limit) => {
      const { name, durationMs } = limit;
      return { ...limit, account: limit.async ? null : await ledger.openWindow({ owner, name, durationMs }, 0) };
    }),
  );
}

/** Strict limits as the ledger counts them, local limits as the nodes last saved them. In the order of the limits. */
export async function readUsedLimits(
  { ledger, localCounts }: Pick<Storage, 'ledger' | 'localCounts'>,
  owner: string,
  limits: readonly LimitRecord[],
): Promise<readonly UsedLimit[]> {
  const accounts = limits.flatMap(({ account }) => account ?? []);
  const [states, local] = await Promise.all([
    accounts.length === 0 ? [] : ledger.read(accounts),
    limits.some(({ async }) => async) ? localCounts.load(owner) : [],
  ]);
  const nowMs = ledger.nowMs();
  const stateOf = new Map(accounts.map((account, i) => [account, states[i]]));
  return limits.map((limit) => {
    if (limit.async) return usedLocally(limit, local, nowMs);
    const state = stateOf.get(limit.account ?? 0);
    if (state === undefined) return { used: 0, resetAtMs: windowEnd(nowMs, limit.durationMs) };
    const { value, mark } = rolled(state, limit.durationMs, nowMs);
    return { used: value, resetAtMs: mark };
  });
}

function usedLocally({ name, durationMs }: LimitRecord, saved: readonly LoadedCount[], nowMs: number): UsedLimit {
  const resetAtMs = windowEnd(nowMs, durationMs);
  const running = saved.find(
    (count) => count.name === name && count.durationMs === durationMs && count.resetAtMs > nowMs,
  );
  return running === undefined
    ? { used: 0, resetAtMs }
    : { used: running.count + running.others, resetAtMs: running.resetAtMs };
}
