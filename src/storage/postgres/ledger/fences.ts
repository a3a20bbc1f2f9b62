import { ABSENT, type Fence, fencedRecord } from '../../../core/fence.ts';
import type { Spend } from '../../../core/spend.ts';
import { FENCE_KINDS, FENCED_REVISION } from '../../sql/fences.ts';
import type { BatchOutcome } from './batch.ts';

/** The arguments of a function that reads fences. */
export const FENCE_ARGUMENTS = 'fence_kinds bigint[], fence_ids text[], fence_names text[], fence_revisions bigint[]';
/** Begins the answer of a batch of which nothing was done, because some of its fences are broken. */
const BROKEN = -1;

/**
 * Reads the fences of a batch before anything else, by primary key and without a lock: a role or an override is no hot row. The
 * statement begins after every request of the batch has arrived, so it sees each change that was answered before one of them.
 * When one is broken, nothing of the batch is done, and the answer names the broken ones.
 */
export const READ_FENCES = `
  IF cardinality(fence_kinds) > 0 THEN
    SELECT string_agg(f.place::text, ',') INTO broken
    FROM unnest(fence_kinds, fence_ids, fence_names, fence_revisions) WITH ORDINALITY AS f(kind, id, name, revision, place)
    WHERE CASE f.kind
      ${FENCE_KINDS.map((kind, number) => `WHEN ${number} THEN (${FENCED_REVISION[kind]('f.id', 'f.name')})`).join('\n      ')}
      END IS DISTINCT FROM nullif(f.revision, ${ABSENT});
    IF broken IS NOT NULL THEN RETURN '${BROKEN},' || ledger_now_v1(at_ms) || ',' || broken; END IF;
  END IF;`;

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

/** Of an answer that names broken fences: the spends that carry one are stale, the others are asked again. Null: of another answer. */
export function readBroken(numbers: readonly number[], spends: readonly Spend[]): BatchOutcome[] | null {
  if (numbers[0] !== BROKEN) return null;
  const [, nowMs = 0, ...places] = numbers;
  const all = distinctFences(spends);
  const broken = new Set(places.map((place) => nameOf(all[place - 1] as Fence)));
  return spends.map(({ fences }): BatchOutcome => {
    const fence = fences.find((each) => broken.has(nameOf(each)));
    return fence === undefined ? 'again' : { status: 'stale', nowMs, fence };
  });
}
