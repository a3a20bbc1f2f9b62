import type { Waits } from '../ledger/batch.ts';
import { FENCE_ARGUMENTS, READ_FENCES } from '../ledger/fences.ts';
import { STATUS } from './spendFunction.ts';

/** Beside the statuses of ledger_spend_v3: this has to be decided there, because a refill is due, or the account has changed meanwhile. */
export const APART = 7;

/** How the function is told what to do about rows that others hold. */
export const TAKE_WAITS: Readonly<Record<Waits, number>> = { never: 0, first: 1, briefly: 2 };

/** Who had to wait for longer than this, and comes into another window or epoch by that, begins anew. */
const LONGEST_WAIT_MS = 100;
/** It was so: nothing was done. */
export const WAITED_TOO_LONG = 'KS003';

/** Credits have no duration. */
const IS_KIND = 'a.kind = CASE WHEN u.duration > 0 THEN 1 ELSE 0 END';
/** The window of `a` has ended. */
const HAS_ENDED = 'u.duration > 0 AND now_ >= a.mark';
const CHANGED = `CASE WHEN ${HAS_ENDED} THEN u.change ELSE a.value + u.change END`;
const MARK = `CASE WHEN ${HAS_ENDED} THEN (now_ / u.duration + 1) * u.duration ELSE a.mark END`;
const SUFFICES = `CASE WHEN u.duration = 0 THEN a.value + u.change >= 0
  WHEN now_ >= a.mark THEN u.change <= u.most ELSE a.value + u.change <= u.most END`;

interface Way {
  /** Waits for rows that others hold; otherwise they are left alone, which costs a third more. */
  readonly waits: boolean;
  /** The arrays of refills are filled in: an account that was not refilled for the running epoch is not taken from. */
  readonly refills: boolean;
}

function asked({ refills }: Way): string {
  return `unnest(ids, changes, revisions, mosts, durations${refills ? ', epochs, starts, nexts' : ''}) WITH ORDINALITY
      AS u(id, change, revision, most, duration${refills ? ', epoch, start, next' : ''}, place)`;
}

function take(way: Way): string {
  const isMeant = `a.revision = u.revision AND ${IS_KIND} AND ${SUFFICES} ${way.refills ? 'AND (u.next IS NULL OR (now_ >= u.start AND now_ < u.next AND a.mark >= u.epoch AND a.due_at_ms >= u.next))' : ''}`;
  const update = way.waits
    ? `UPDATE accounts a SET value = ${CHANGED}, mark = ${MARK}, room = NULL
    FROM ${asked(way)} WHERE a.id = u.id AND ${isMeant}
    RETURNING u.place, a.value, a.mark`
    : `UPDATE accounts t SET value = s.value, mark = s.mark, room = NULL
    FROM (
      SELECT u.place, a.ctid AS tid, ${CHANGED} AS value, ${MARK} AS mark
      FROM ${asked(way)} JOIN accounts a ON a.id = u.id
      WHERE ${isMeant}
      FOR UPDATE OF a SKIP LOCKED
    ) s
    -- By its place in the table: what came there after this statement began is not seen, and not taken.
    WHERE t.ctid = s.tid
    RETURNING s.place, t.value, t.mark`;
  return `
  WITH taken AS (${update})
  SELECT array_agg(k.place), array_agg(k.value), array_agg(k.mark), count(*) INTO places, vals, marks, n FROM taken k;`;
}

/** Of what was not taken it is told why: from what is committed, without a lock. */
function others(way: Way): string {
  const refills = way.refills
    ? `WHEN now_ < u.start OR now_ >= u.next THEN '${STATUS.stale},0,0'
      WHEN a.mark < u.epoch OR a.due_at_ms < u.next THEN '${APART},0,0'`
    : '';
  return `
    SELECT string_agg(u.place || ',' || CASE
      WHEN a.id IS NULL OR a.revision <> u.revision OR NOT ${IS_KIND} THEN '${STATUS.stale},0,0' ${refills}
      WHEN ${SUFFICES} THEN CASE WHEN waits = ${TAKE_WAITS.never} THEN '${STATUS.busy},0,0' ELSE '${APART},0,0' END
      ELSE '${STATUS.refused},' || CASE WHEN ${HAS_ENDED} THEN 0 ELSE a.value END || ',' || (${MARK}) END, ',')
    INTO others FROM ${asked(way)} LEFT JOIN accounts a ON a.id = u.id
    WHERE places IS NULL OR u.place <> ALL (places);`;
}

function either(sql: (way: Way) => string, waits: boolean): string {
  return `IF cardinality(epochs) = 0 THEN ${sql({ waits, refills: false })} ELSE ${sql({ waits, refills: true })} END IF;`;
}

/**
 * Plain spends: one leg, no idempotency key, and no two of the same account. No spend can see what another one did, so one
 * statement takes all that suffices, at half the cost of ledger_spend_v3. A spend is a change of the value: more in a window,
 * less of credits, up to the most that it may be. The ids ascend: who waits for a row holds none after it.
 *
 * What does not suffice is neither locked nor written. The answer: now, how many were taken, their places, values and marks,
 * and of each other one its place, status, value and mark.
 */
const takeFunction = (name: string, moreArguments: string, first: string): string => `
CREATE FUNCTION ${name}(
  lane bigint, batch bigint, waits int, at_ms bigint, ids bigint[], changes bigint[], revisions bigint[], mosts bigint[],
  durations bigint[], epochs bigint[], starts bigint[], nexts bigint[]${moreArguments}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  began timestamptz; now_ bigint; after_ bigint;
  places bigint[]; vals bigint[]; marks bigint[]; n int; answer text; others text; broken text;
BEGIN
  ${first}
  IF waits = ${TAKE_WAITS.first} THEN PERFORM 1 FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE; END IF;
  began := clock_timestamp();
  now_ := coalesce(at_ms, floor(date_part('epoch', began) * 1000)::bigint);
  IF waits = ${TAKE_WAITS.never} THEN
    ${either(take, false)}
  ELSE
    ${either(take, true)}
    IF waits = ${TAKE_WAITS.briefly} AND clock_timestamp() > began + interval '${LONGEST_WAIT_MS} milliseconds' THEN
      after_ := now_ + floor(date_part('epoch', clock_timestamp() - began) * 1000)::bigint;
      IF EXISTS (
        SELECT 1 FROM unnest(durations, nexts) AS u(duration, next)
        WHERE (u.duration > 0 AND after_ / u.duration > now_ / u.duration) OR after_ >= u.next
      ) THEN
        RAISE EXCEPTION 'waited for rows of others' USING ERRCODE = '${WAITED_TOO_LONG}';
      END IF;
    END IF;
  END IF;
  answer := now_ || ',' || n;
  IF n > 0 THEN answer := answer || ',' || array_to_string(places || vals || marks, ','); END IF;
  IF n < cardinality(ids) THEN
    ${either(others, true)}
    answer := answer || ',' || others;
  END IF;
  IF n > 0 THEN
    -- As ledger_note_v1 does, which is asked only to complain.
    UPDATE lanes AS t SET batch = $2, verdicts = answer, used_at_ms = now_ WHERE t.id = lane AND t.batch < $2;
    IF NOT FOUND THEN PERFORM ledger_note_v1(lane, batch, answer, now_); END IF;
  END IF;
  RETURN answer;
END $$;`;

export const TAKE_V1 = takeFunction('ledger_take_v1', '', '');
export const TAKE_V2 = takeFunction('ledger_take_v2', `, ${FENCE_ARGUMENTS}`, READ_FENCES);
