import { DAY_MS } from '../../../core/statement.ts';
import { FENCE_ARGUMENTS, READ_FENCES } from './readFences.ts';
import { STATUS } from './generalSpendFunction.ts';

/**
 * Beside the statuses of ledger_spend_v1: the spend needs that function, because something is due, a day has begun for the statement, or
 * the account has just changed.
 */
export const NEEDS_GENERAL = 7;

/** An account of credits has no duration. */
const IS_KIND = 'a.kind = CASE WHEN u.duration > 0 THEN 1 ELSE 0 END';
/** The window of `a` has ended. */
const HAS_ENDED = 'u.duration > 0 AND now_ >= a.mark';
const CHANGED = `CASE WHEN ${HAS_ENDED} THEN u.change ELSE a.value + u.change END`;
const MARK = `CASE WHEN ${HAS_ENDED} THEN (now_ / u.duration + 1) * u.duration ELSE a.mark END`;
const SUFFICES = `CASE WHEN u.duration = 0 THEN a.value + u.change >= 0
  WHEN now_ >= a.mark THEN u.change <= u.most ELSE a.value + u.change <= u.most END`;

/** Of credits: something other than a spend has to happen first. */
const IS_DUE = 'u.duration = 0 AND a.due_at_ms <> 0 AND now_ >= a.due_at_ms';
/** Of credits: the running line of the statement is one of an earlier day. */
const IS_OF_EARLIER_DAY = `u.duration = 0 AND a.segment_ms < now_ - now_ % ${DAY_MS}`;

/** The batch has refills: their arrays are filled in, and an account that was not refilled for the running epoch is not taken from. */
type WithRefills = boolean;

function asked(refills: WithRefills): string {
  return `unnest(ids, changes, revisions, mosts, durations${refills ? ', starts, nexts' : ''}) WITH ORDINALITY
      AS u(id, change, revision, most, duration${refills ? ', start, next' : ''}, ordinal)`;
}

/**
 * Takes from all accounts that suffice, in one statement. It leaves rows alone that another transaction holds: those come back as
 * busy. With `waits` all rows are locked before, and none is held by another.
 */
function take(refills: WithRefills): string {
  const isMeant = `a.revision = u.revision AND ${IS_KIND} AND ${SUFFICES} AND NOT (${IS_DUE}) AND NOT (${IS_OF_EARLIER_DAY})
    ${refills ? 'AND (u.next IS NULL OR (now_ >= u.start AND now_ < u.next AND a.mark >= u.start AND a.due_at_ms <> 0))' : ''}`;
  return `
  WITH taken AS (
    UPDATE accounts t SET value = s.value, mark = s.mark, padding = NULL
    FROM (
      SELECT u.ordinal, a.ctid AS tid, ${CHANGED} AS value, ${MARK} AS mark
      FROM ${asked(refills)} JOIN accounts a ON a.id = u.id
      WHERE ${isMeant}
      FOR UPDATE OF a SKIP LOCKED
    ) s
    -- By ctid: the statement does not see a row that was put there after it began, and takes nothing from it.
    WHERE t.ctid = s.tid
    RETURNING s.ordinal, t.value, t.mark
  )
  SELECT array_agg(k.ordinal), array_agg(k.value), array_agg(k.mark), count(*) INTO ordinals, vals, marks, n FROM taken k;`;
}

/** The reason for each spend that was not taken, from committed data and without a lock. */
function others(refills: WithRefills): string {
  const ofRefills = refills
    ? `WHEN now_ < u.start OR now_ >= u.next THEN '${STATUS.stale},0,0'
      WHEN a.mark < u.start OR (u.next IS NOT NULL AND a.due_at_ms = 0) THEN '${NEEDS_GENERAL},0,0'`
    : '';
  return `
    SELECT string_agg(u.ordinal || ',' || CASE
      WHEN a.id IS NULL OR a.revision <> u.revision OR NOT ${IS_KIND} THEN '${STATUS.stale},0,0' ${ofRefills}
      WHEN ${IS_DUE} THEN '${NEEDS_GENERAL},0,0'
      WHEN ${SUFFICES} THEN CASE WHEN waits OR (${IS_OF_EARLIER_DAY}) THEN '${NEEDS_GENERAL},0,0' ELSE '${STATUS.busy},0,0' END
      ELSE '${STATUS.refused},' || CASE WHEN ${HAS_ENDED} THEN 0 ELSE a.value END || ',' || (${MARK}) END, ',')
    INTO others FROM ${asked(refills)} LEFT JOIN accounts a ON a.id = u.id
    WHERE ordinals IS NULL OR u.ordinal <> ALL (ordinals);`;
}

function either(sql: (refills: WithRefills) => string): string {
  return `IF cardinality(starts) = 0 THEN ${sql(false)} ELSE ${sql(true)} END IF;`;
}

/**
 * A batch of plain spends: each has one charge and no idempotency key. The function gets one row per account; the node adds up its spends.
 * No row depends on another one, so one statement takes from all accounts that suffice, at half the cost of ledger_spend_v1. `changes` are
 * added to the values: positive for a window, up to `mosts`, and negative for credits. The ids ascend: a batch that waits for a row holds
 * no row after it.
 *
 * The clock is read after the locks. An account that does not suffice is neither locked nor written. The answer: now, how many rows were
 * taken, their ordinals, values and marks; then ordinal, status, value and mark of each other row.
 */
export const PLAIN_SPEND_FUNCTION = `
CREATE FUNCTION ledger_take_v1(
  committer bigint, batch bigint, waits boolean, at_ms bigint, ids bigint[], changes bigint[], revisions bigint[], mosts bigint[],
  durations bigint[], starts bigint[], nexts bigint[], ${FENCE_ARGUMENTS}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ bigint; ordinals bigint[]; vals bigint[]; marks bigint[]; n int; answer text; others text; broken text;
BEGIN
  ${READ_FENCES}
  IF waits THEN PERFORM 1 FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE; END IF;
  now_ := coalesce(at_ms, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint);
  ${either(take)}
  answer := now_ || ',' || n;
  IF n > 0 THEN answer := answer || ',' || array_to_string(ordinals || vals || marks, ','); END IF;
  IF n < cardinality(ids) THEN
    ${either(others)}
    answer := answer || ',' || others;
  END IF;
  IF n > 0 THEN
    -- The same as ledger_note_v1, which is called only to report an error.
    UPDATE committers AS t SET batch = $2, verdicts = answer, used_at_ms = now_ WHERE t.id = committer AND t.batch < $2;
    IF NOT FOUND THEN PERFORM ledger_note_v1(committer, batch, answer, now_); END IF;
  END IF;
  RETURN answer;
END $$;`;
