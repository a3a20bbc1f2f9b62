import { STATUS } from './functions.ts';

/** Beside the statuses of ledger_spend_v1: a refill has to be applied first, which that one does. */
export const NOT_REFILLED = 7;

/** The window of `a` has ended; credits have no duration. */
const HAS_ENDED = 'u.duration > 0 AND now_ >= a.mark';
const VALUE = `CASE WHEN ${HAS_ENDED} THEN 0 ELSE a.value END`;
const MARK = `CASE WHEN ${HAS_ENDED} THEN (now_ / u.duration + 1) * u.duration ELSE a.mark END`;
const SUFFICES = `(${VALUE}) + u.change BETWEEN 0 AND u.most`;

/** `refills`: the arrays of refills are filled in; an account that was not refilled for the running epoch is not taken from. */
function take(refills: boolean): string {
  const asked = `unnest(ids, changes, revisions, kinds, mosts, durations${refills ? ', epochs, starts, nexts' : ''}) WITH ORDINALITY
      AS u(id, change, revision, kind, most, duration${refills ? ', epoch, start, next' : ''}, place)`;
  const isRefilled = refills
    ? 'AND (u.next IS NULL OR (now_ >= u.start AND now_ < u.next AND a.mark >= u.epoch AND a.due_at_ms >= u.next))'
    : '';
  const others = refills
    ? `WHEN now_ < u.start OR now_ >= u.next THEN '${STATUS.stale},0,0'
      WHEN a.mark < u.epoch OR a.due_at_ms < u.next THEN '${NOT_REFILLED},0,0'`
    : '';
  return `
  WITH taken AS (
    UPDATE accounts t SET value = s.value, mark = s.mark, room = NULL
    FROM (
      SELECT u.place, a.ctid AS tid, (${VALUE}) + u.change AS value, ${MARK} AS mark
      FROM ${asked} JOIN accounts a ON a.id = u.id
      WHERE a.revision = u.revision AND a.kind = u.kind AND ${SUFFICES} ${isRefilled}
      FOR UPDATE OF a SKIP LOCKED
    ) s
    -- By its place in the table: what came there after this statement began is not seen, and not taken.
    WHERE t.ctid = s.tid
    RETURNING s.place, t.value, t.mark
  )
  SELECT array_agg(k.place), array_agg(k.value), array_agg(k.mark), count(*) INTO places, vals, marks, n FROM taken k;
  answer := now_ || ',' || n;
  IF n > 0 THEN
    answer := answer || ',' || array_to_string(places, ',') || ',' || array_to_string(vals, ',') || ',' || array_to_string(marks, ',');
  END IF;
  IF n < cardinality(ids) THEN
    SELECT string_agg(u.place || ',' || CASE
      WHEN a.id IS NULL OR a.revision <> u.revision OR a.kind <> u.kind THEN '${STATUS.stale},0,0' ${others}
      WHEN ${SUFFICES} THEN '${STATUS.busy},0,0'
      ELSE '${STATUS.refused},' || (${VALUE}) || ',' || (${MARK}) END, ',')
    INTO others FROM ${asked} LEFT JOIN accounts a ON a.id = u.id
    WHERE places IS NULL OR u.place <> ALL (places);
    answer := answer || ',' || others;
  END IF;`;
}

/**
 * Plain spends: one leg, no idempotency key, and no two of the same account. No spend can see what another one did, so one
 * statement takes all that suffices, at half the cost of ledger_spend_v1. A spend is a change of the value: more in a window,
 * less of credits, up to the most that it may be.
 *
 * A row that someone else holds is left alone; with `waits` all are locked first, in the order of their ids, and the clock is
 * read after that. What does not suffice is neither locked nor written, and told from what is committed. The answer: now, how
 * many were taken, their places, values and marks, and of each other one its place, status, value and mark.
 */
export const TAKE = `
CREATE FUNCTION ledger_take_v1(
  lane bigint, batch bigint, waits boolean, at_ms bigint, ids bigint[], changes bigint[], revisions bigint[], kinds int[],
  mosts bigint[], durations bigint[], epochs bigint[], starts bigint[], nexts bigint[]
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ bigint; places bigint[]; vals bigint[]; marks bigint[]; n int; answer text; others text;
BEGIN
  IF waits THEN PERFORM 1 FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE; END IF;
  now_ := coalesce(at_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  IF cardinality(epochs) = 0 THEN ${take(false)}
  ELSE ${take(true)}
  END IF;
  IF n > 0 THEN PERFORM ledger_note_v1(lane, batch, answer, now_); END IF;
  RETURN answer;
END $$;`;
