import { ABSENT } from '../../../core/fence.ts';
import { FENCE_KINDS, FENCED_REVISION } from '../../sql/fences.ts';

/** The arguments of a function that reads fences. */
export const FENCE_ARGUMENTS = 'fence_kinds bigint[], fence_ids text[], fence_names text[], fence_revisions bigint[]';
/** Begins the answer of a batch of which nothing was done, because some of its fences are broken. */
export const BROKEN = -1;

/** Behind the kinds of records: notes that were made under the token that is its name still count. */
export const RECORDS_KIND = FENCE_KINDS.length;

/** Of a fence `f`: its record has another revision. */
export function isBroken(): string {
  const revisions = FENCE_KINDS.map(
    (kind, number) => `WHEN ${number} THEN (${FENCED_REVISION[kind]('f.id', 'f.name')})`,
  );
  return `CASE f.kind
      ${revisions.join('\n      ')}
      WHEN ${RECORDS_KIND} THEN (SELECT f.revision FROM change_counter c WHERE c.token = f.name)
      END IS DISTINCT FROM nullif(f.revision, ${ABSENT})`;
}

/**
 * Reads the fences of a batch before anything else, by primary key and without a lock: a role or an override is not a hot row. The
 * statement begins after every request of the batch has arrived, so it sees each change that was answered before one of them.
 * When one is broken, nothing of the batch is done, and the answer names the broken ones.
 */
export const READ_FENCES = `
  IF cardinality(fence_kinds) > 0 THEN
    SELECT string_agg(f.ordinal::text, ',') INTO broken
    FROM unnest(fence_kinds, fence_ids, fence_names, fence_revisions) WITH ORDINALITY AS f(kind, id, name, revision, ordinal)
    WHERE ${isBroken()};
    IF broken IS NOT NULL THEN RETURN '${BROKEN},' || ledger_now_v1(at_ms) || ',' || broken; END IF;
  END IF;`;
