import { type Fence, fencedRecord } from '../../../core/fence.ts';
import type { Spend } from '../../../core/spend.ts';
import { FENCE_KINDS } from '../../sql/fences.ts';
import { BROKEN } from '../schema/readFences.ts';
import type { BatchOutcome } from './batch.ts';

/** The fences of a batch, each once, as columns. */
export interface FenceColumns {
  readonly kinds: readonly number[];
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly revisions: readonly number[];
}

export function fenceColumnsOf(spends: readonly Spend[]): FenceColumns {
  const columns = { kinds: [] as number[], ids: [] as string[], names: [] as string[], revisions: [] as number[] };
  for (const { kind, id, name, revision } of distinctFences(spends)) {
    columns.kinds.push(FENCE_KINDS.indexOf(kind));
    columns.ids.push(id);
    columns.names.push(name);
    columns.revisions.push(revision);
  }
  return columns;
}

/** In the order of the columns. */
function distinctFences(spends: readonly Spend[]): Fence[] {
  const distinct = new Map<string, Fence>();
  for (const { fences } of spends) for (const fence of fences) distinct.set(nameOf(fence), fence);
  return [...distinct.values()];
}

function nameOf(fence: Fence): string {
  return `${fencedRecord(fence)} ${fence.revision}`;
}

/** When the answer names broken fences: the spends that carry one are stale, and the others are sent again. Otherwise null. */
export function readBroken(numbers: readonly number[], spends: readonly Spend[]): BatchOutcome[] | null {
  if (numbers[0] !== BROKEN) return null;
  const [, nowMs = 0, ...positions] = numbers;
  const all = distinctFences(spends);
  const broken = new Set(positions.map((position) => nameOf(all[position - 1] as Fence)));
  return spends.map(({ fences }): BatchOutcome => {
    const fence = fences.find((each) => broken.has(nameOf(each)));
    return fence === undefined ? 'resend' : { status: 'stale', nowMs, fence };
  });
}
