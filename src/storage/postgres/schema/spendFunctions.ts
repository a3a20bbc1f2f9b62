import { ABSENT } from '../../../core/fence.ts';
import { DAY_MS } from '../../../core/statement.ts';
import { ADD_TO_LINE } from '../../sql/creditWrites.ts';
import { FENCE_KINDS, FENCED_REVISION } from '../../sql/fences.ts';

/**
 * Statuses in the answer. Each is followed by the number of the charge that refused and the number of charges, then (left, reset) of each
 * charge. A charge whose refill begins at another mark is stale: its number, 1, its mark, 0. A charge whose pockets have to be settled
 * first: its number, 1, its mark, 1.
 */
export const STATUS = { taken: 0, refused: 1, stale: 2, conflict: 3, tooManyLive: 4, busy: 5, replayed: 6 } as const;

/** The arguments of a function that reads fences. */
const FENCE_ARGUMENTS = 'fence_kinds bigint[], fence_ids text[], fence_names text[], fence_revisions bigint[]';
/** Begins the answer of a batch that was not done, because some of its fences are broken. */
export const BROKEN = -1;

/** The kind after those of records: notes still count if they were made under the token that is the name of this fence. */
export const RECORDS_KIND = FENCE_KINDS.length;

/** Whether the record of a fence `f` has another revision. */
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
 * Reads the fences of a batch before anything else, by primary key and without a lock, so that a role or an override is not a hot row. The
 * statement begins after every request of the batch has arrived, so it sees each change that was answered before one of them. If a fence is
 * broken, nothing of the batch is done, and the answer names the broken fences.
 */
const READ_FENCES = `
  IF cardinality(fence_kinds) > 0 THEN
    SELECT string_agg(f.ordinal::text, ',') INTO broken
    FROM unnest(fence_kinds, fence_ids, fence_names, fence_revisions) WITH ORDINALITY AS f(kind, id, name, revision, ordinal)
    WHERE ${isBroken()};
    IF broken IS NOT NULL THEN RETURN '${BROKEN},' || ledger_now_v1(at_ms) || ',' || broken; END IF;
  END IF;`;

/**
 * A status besides those of ledger_spend_v1: the spend needs that function, because something is due, a new day has begun for the
 * statement, or the account has just changed.
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

/** For credits: something other than a spend has to happen first. */
const IS_DUE = 'u.duration = 0 AND a.due_at_ms <> 0 AND now_ >= a.due_at_ms';
/** For credits: the running line of the statement belongs to an earlier day. */
const IS_OF_EARLIER_DAY = `u.duration = 0 AND a.segment_ms < now_ - now_ % ${DAY_MS}`;

/** The batch has refills: their arrays are filled, and nothing is taken from an account that was not refilled for the present epoch. */
type WithRefills = boolean;

function asked(refills: WithRefills): string {
  return `unnest(ids, changes, revisions, mosts, durations${refills ? ', starts, nexts' : ''}) WITH ORDINALITY
      AS u(id, change, revision, most, duration${refills ? ', start, next' : ''}, ordinal)`;
}

/**
 * Takes from all accounts that have enough, in one statement. Rows that another transaction holds are left alone and come back as busy.
 * With `waits`, all rows are locked before, so no other transaction holds one.
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
 * A batch of plain spends: each has one charge and no idempotency key. The function gets one row per account, because the node adds up its
 * spends. No row depends on another one, so one statement takes from all accounts that have enough, at half the cost of ledger_spend_v1.
 * `changes` are added to the values: positive for a window, up to `mosts`, and negative for credits. The ids ascend, so a batch that waits
 * for a row holds no row after it.
 *
 * The clock is read after the locks. An account that does not have enough is neither locked nor written. The answer: now, how many rows
 * were taken, their ordinals, values and marks; then ordinal, status, value and mark of each other row.
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

/** The rules of a charge, and the meaning of their five numbers (arguments r1 to r5). */
export const CHARGE_RULE = {
  credits: 0,
  /** mark that the steps begin at, start, end, first step, last step */
  refill: 1,
  /** limit, duration, -, -, - */
  window: 2,
} as const;

/** Modes of a step of a refill. */
export const STEP_MODE = { restore: 0, add: 1 } as const;

/** When the account is due after a refill: at the next one, or at a move to another plan before it. */
const NEXT_DUE = 'CASE WHEN d > now_ THEN least(d, r3[g]) ELSE r3[g] END';

/**
 * Decides one batch of spends exactly as core/spend decides them one by one. `ids` are the accounts, ascending and each once; a charge
 * names its account by its position among them. Without `waits`, a row that another transaction holds is left alone, and its spends come
 * back as busy.
 *
 * The order matters: first the locks, in the order of the ids, then the clock, then the idempotency keys. The keys have a separate
 * statement, because the statement that locks sees the tables as they were before it waited for the locks.
 */
export const GENERAL_SPEND_FUNCTION = `
CREATE FUNCTION ledger_spend_v1(
  committer bigint, batch bigint, waits boolean, at_ms bigint, ids bigint[], spend_charges int[],
  positions int[], amounts bigint[], charge_revisions bigint[], rules int[],
  r1 bigint[], r2 bigint[], r3 bigint[], r4 bigint[], r5 bigint[],
  step_mode int[], step_amount bigint[], step_max bigint[], step_times bigint[],
  spend_idem int[], idem_scope int[], idem_id text[], idem_digest text[], scopes text[], max_live int, ${FENCE_ARGUMENTS}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  n_ids int := coalesce(cardinality(ids), 0);
  n_idem int := coalesce(cardinality(idem_id), 0);
  n_spends int := coalesce(cardinality(spend_charges), 0);
  -- Of each account, in the order of the ids: 0 = not there, 1 = ours, 2 = held by someone.
  seen int[]; kinds int[]; vals bigint[]; marks bigint[]; dues bigint[]; revs bigint[]; bases bigint[]; segs bigint[];
  dirty boolean[] := array_fill(false, ARRAY[n_ids]);
  -- Of the rows that were locked, before they are brought into that order.
  l_ids bigint[]; l_kinds int[]; l_vals bigint[]; l_marks bigint[]; l_dues bigint[]; l_revs bigint[];
  l_bases bigint[]; l_segs bigint[];
  -- Of the charges of one spend: as the account stands now, and after the spend.
  cur_val bigint[]; cur_mark bigint[]; new_val bigint[]; new_mark bigint[]; new_due bigint[];
  new_base bigint[]; new_seg bigint[]; gain bigint[];
  -- Of the accounts that have pockets: their ids, and what they hold. Read when it first matters.
  pocketed bigint[]; helds bigint[];
  -- Lines of statements: account, start, period, opening, refilled, spent, closing, held.
  lines bigint[][] := '{}';
  rep_digest text[] := array_fill(NULL::text, ARRAY[n_idem]);
  rep_outcome text[] := array_fill(NULL::text, ARRAY[n_idem]);
  live int[];
  kept_at int[] := '{}'; kept_outcome text[] := '{}';
  answer bigint[]; verdicts_ text;
  w int := 0; any_dirty boolean := false;
  row_ record; now_ bigint; p int; skipped int := 0; n int; j int; k int; g int; rule int; amount bigint;
  v bigint; m bigint; d bigint; target bigint; status int; refused_by int; told bigint[];
  b bigint; sg bigint; held_ bigint; today bigint; is_due boolean; part int; broken text;
BEGIN
  ${READ_FENCES}
  IF waits THEN
    SELECT array_agg(l.id), array_agg(l.kind), array_agg(l.value), array_agg(l.mark), array_agg(l.due_at_ms), array_agg(l.revision),
      array_agg(l.base), array_agg(l.segment_ms)
    INTO l_ids, kinds, vals, marks, dues, revs, bases, segs
    FROM (SELECT a.* FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE) l;
  ELSE
    SELECT array_agg(l.id), array_agg(l.kind), array_agg(l.value), array_agg(l.mark), array_agg(l.due_at_ms), array_agg(l.revision),
      array_agg(l.base), array_agg(l.segment_ms)
    INTO l_ids, kinds, vals, marks, dues, revs, bases, segs
    FROM (SELECT a.* FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE SKIP LOCKED) l;
  END IF;
  now_ := ledger_now_v1(at_ms);
  today := now_ - now_ % ${DAY_MS};

  IF l_ids = ids THEN
    seen := array_fill(1, ARRAY[n_ids]);
  ELSE
    l_kinds := kinds; l_vals := vals; l_marks := marks; l_dues := dues; l_revs := revs;
    l_bases := bases; l_segs := segs;
    seen := array_fill(0, ARRAY[n_ids]); kinds := seen;
    vals := array_fill(0::bigint, ARRAY[n_ids]); marks := vals; dues := vals; revs := vals; bases := vals; segs := vals;
    p := 1;
    FOR i IN 1 .. coalesce(cardinality(l_ids), 0) LOOP
      WHILE ids[p] < l_ids[i] LOOP p := p + 1; END LOOP;
      seen[p] := 1; kinds[p] := l_kinds[i]; vals[p] := l_vals[i]; marks[p] := l_marks[i]; dues[p] := l_dues[i]; revs[p] := l_revs[i];
      bases[p] := l_bases[i]; segs[p] := l_segs[i];
    END LOOP;
    IF NOT waits THEN
      FOR row_ IN SELECT u.at FROM unnest(ids, seen) WITH ORDINALITY AS u(id, is_seen, at)
        WHERE u.is_seen = 0 AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = u.id) LOOP
        seen[row_.at] := 2;
      END LOOP;
    END IF;
  END IF;
  answer := array_fill(0::bigint, ARRAY[3 * n_spends + 2 * coalesce(cardinality(positions), 0)]);

  IF n_idem > 0 THEN
    FOR row_ IN
      SELECT u.at, r.request_digest, r.outcome
      FROM unnest(idem_scope, idem_id) WITH ORDINALITY AS u(scope_at, id, at)
      JOIN LATERAL (
        SELECT request_digest, outcome FROM idempotency_0 WHERE scope = scopes[u.scope_at] AND id = u.id
        UNION ALL
        SELECT request_digest, outcome FROM idempotency_1 WHERE scope = scopes[u.scope_at] AND id = u.id
      ) r ON true
    LOOP
      rep_digest[row_.at] := row_.request_digest; rep_outcome[row_.at] := row_.outcome;
    END LOOP;
    SELECT array_agg(
      (SELECT count(*) FROM (
        SELECT 1 FROM idempotency_0 WHERE scope = u.scope UNION ALL SELECT 1 FROM idempotency_1 WHERE scope = u.scope LIMIT max_live
      ) x) ORDER BY u.at)::int[]
    INTO live FROM unnest(scopes) WITH ORDINALITY AS u(scope, at);
  END IF;

  FOR s IN 1 .. n_spends LOOP
    n := spend_charges[s];
    k := spend_idem[s];
    status := ${STATUS.taken}; refused_by := -1; is_due := false;

    -- Made for another record, another refill epoch, or a row that is held.
    FOR i IN 1 .. n LOOP
      g := skipped + i; p := positions[g]; rule := rules[g];
      IF seen[p] = 2 THEN
        status := ${STATUS.busy};
      ELSIF seen[p] = 0 OR revs[p] <> charge_revisions[g] OR kinds[p] <> (CASE WHEN rule = ${CHARGE_RULE.window} THEN 1 ELSE 0 END) THEN
        status := ${STATUS.stale}; EXIT;
      ELSIF rule = ${CHARGE_RULE.refill} AND (now_ < r2[g] OR now_ >= r3[g]) THEN
        status := ${STATUS.stale}; EXIT;
      ELSIF rule = ${CHARGE_RULE.refill} AND marks[p] < r2[g] AND marks[p] <> r1[g] THEN
        status := ${STATUS.stale}; refused_by := i - 1; EXIT;
      ELSIF rule <> ${CHARGE_RULE.window} THEN
        -- Something other than a spend has happened to the credits.
        is_due := (dues[p] <> 0 AND now_ >= dues[p]) OR (rule = ${CHARGE_RULE.refill} AND marks[p] < r2[g]);
        IF pocketed IS NULL AND (is_due OR segs[p] < today OR (rule = ${CHARGE_RULE.refill} AND dues[p] = 0)) THEN
          SELECT coalesce(array_agg(k.account), '{}'), coalesce(array_agg(k.held), '{}') INTO pocketed, helds
          FROM pockets k WHERE k.account = ANY (ids);
        END IF;
        IF is_due AND ids[p] = ANY (pocketed) THEN
          status := ${STATUS.stale}; refused_by := i - 1; EXIT;
        END IF;
        is_due := false;
      END IF;
    END LOOP;

    IF status = ${STATUS.taken} AND k > 0 THEN
      IF rep_digest[k] IS NOT NULL THEN
        status := CASE WHEN rep_digest[k] = idem_digest[k] THEN ${STATUS.replayed} ELSE ${STATUS.conflict} END;
      ELSIF live[idem_scope[k]] >= max_live THEN
        status := ${STATUS.tooManyLive};
      END IF;
    END IF;

    IF status = ${STATUS.taken} THEN
      cur_val := '{}'; cur_mark := '{}'; new_val := '{}'; new_mark := '{}'; new_due := '{}';
      new_base := '{}'; new_seg := '{}'; gain := '{}';
      FOR i IN 1 .. n LOOP
        g := skipped + i; p := positions[g]; amount := amounts[g]; rule := rules[g];
        v := vals[p]; m := marks[p]; d := dues[p]; b := bases[p]; sg := segs[p]; gain[i] := 0;
        IF rule = ${CHARGE_RULE.window} THEN
          IF now_ >= m THEN v := 0; m := (now_ / r2[g] + 1) * r2[g]; END IF;
        ELSE
          IF rule = ${CHARGE_RULE.refill} AND m < r2[g] THEN
            FOR q IN r4[g] .. r5[g] LOOP
              target := CASE
                WHEN step_times[q] = 0 THEN v
                WHEN step_mode[q] = ${STEP_MODE.restore} THEN step_amount[q]
                WHEN step_amount[q] = 0 THEN v
                WHEN step_times[q] > (step_max[q] - v) / step_amount[q] THEN step_max[q]
                ELSE v + step_amount[q] * step_times[q] END;
              v := greatest(v, target);
            END LOOP;
            gain[i] := v - vals[p]; m := r2[g]; d := ${NEXT_DUE}; sg := greatest(r2[g], sg + 1);
          ELSIF (rule = ${CHARGE_RULE.refill} AND d = 0) OR (d <> 0 AND now_ >= d) OR sg < today THEN
            -- Pockets also decide when an account is due.
            IF ids[p] <> ALL (pocketed) THEN
              d := CASE WHEN rule = ${CHARGE_RULE.refill} AND now_ >= d THEN r3[g] WHEN now_ >= d THEN 0 ELSE d END;
            END IF;
          END IF;
          sg := greatest(sg, today);
          IF sg <> segs[p] THEN b := v; END IF;
        END IF;
        cur_val[i] := v; cur_mark[i] := m;
        -- An account that stands in two charges of one spend: the second sees what the first left.
        FOR j IN REVERSE i - 1 .. 1 LOOP
          IF positions[skipped + j] = p THEN
            v := new_val[j]; m := new_mark[j]; d := new_due[j]; b := new_base[j]; sg := new_seg[j];
            gain[i] := gain[j]; EXIT;
          END IF;
        END LOOP;
        IF refused_by < 0 THEN
          IF rule = ${CHARGE_RULE.window} THEN
            IF v + amount <= r1[g] THEN v := v + amount; ELSE refused_by := i - 1; END IF;
          ELSE
            IF v >= amount THEN v := v - amount; ELSE refused_by := i - 1; END IF;
          END IF;
        END IF;
        new_val[i] := v; new_mark[i] := m; new_due[i] := d; new_base[i] := b; new_seg[i] := sg;
      END LOOP;
      IF refused_by >= 0 THEN status := ${STATUS.refused}; END IF;
    END IF;

    answer[w + 1] := status; answer[w + 2] := refused_by;
    IF status = ${STATUS.replayed} THEN
      told := rep_outcome[k]::bigint[];
      -- The instant of the first answer, where other statuses have the charge that refused.
      answer[w + 2] := told[1]; answer[w + 3] := (cardinality(told) - 1) / 2;
      FOR i IN 2 .. cardinality(told) LOOP answer[w + 2 + i] := told[i]; END LOOP;
      w := w + 2 + cardinality(told);
    ELSIF status = ${STATUS.stale} AND refused_by >= 0 THEN
      answer[w + 3] := 1; answer[w + 4] := marks[positions[skipped + refused_by + 1]];
      IF is_due THEN answer[w + 5] := 1; END IF;
      w := w + 5;
    ELSIF status > ${STATUS.refused} THEN
      answer[w + 3] := 0;
      w := w + 3;
    ELSE
      answer[w + 3] := n;
      w := w + 3;
      told := ARRAY[now_];
      amount := 0;
      FOR i IN 1 .. n LOOP
        g := skipped + i; p := positions[g]; rule := rules[g];
        IF status = ${STATUS.taken} THEN
          v := new_val[i]; m := new_mark[i];
          IF amounts[g] > 0 THEN
            IF rule <> ${CHARGE_RULE.window} AND new_seg[i] <> segs[p] THEN
              held_ := coalesce(helds[array_position(pocketed, ids[p])], 0);
              IF bases[p] > vals[p] OR held_ > 0 THEN
                lines := lines || ARRAY[[ids[p], segs[p], marks[p], bases[p] + held_, 0, bases[p] - vals[p], vals[p] + held_, held_]];
              END IF;
              IF gain[i] > 0 THEN
                lines := lines || ARRAY[[ids[p], greatest(m, segs[p] + 1), m, vals[p], gain[i], 0, vals[p] + gain[i], 0]];
              END IF;
            END IF;
            bases[p] := new_base[i]; segs[p] := new_seg[i];
            vals[p] := v; marks[p] := m; dues[p] := new_due[i]; dirty[p] := true; any_dirty := true; amount := 1;
          END IF;
        ELSE
          v := cur_val[i]; m := cur_mark[i];
        END IF;
        IF rule = ${CHARGE_RULE.window} THEN
          answer[w + 1] := greatest(0, r1[g] - v); answer[w + 2] := m;
        ELSE
          answer[w + 1] := v; answer[w + 2] := CASE WHEN rule = ${CHARGE_RULE.credits} THEN 0 ELSE r3[g] END;
        END IF;
        told := told || answer[w + 1] || answer[w + 2];
        w := w + 2;
      END LOOP;
      IF k > 0 AND status = ${STATUS.taken} AND amount > 0 THEN
        kept_at := kept_at || k; kept_outcome := kept_outcome || told::text;
        live[idem_scope[k]] := live[idem_scope[k]] + 1;
      END IF;
    END IF;
    skipped := skipped + n;
  END LOOP;

  verdicts_ := now_ || ',' || array_to_string(answer[1:w], ',');
  IF NOT any_dirty THEN RETURN verdicts_; END IF;

  UPDATE accounts a SET value = u.value, mark = u.mark, due_at_ms = u.due, base = u.base, segment_ms = u.segment, padding = NULL
  FROM unnest(ids, vals, marks, dues, bases, segs, dirty) AS u(id, value, mark, due, base, segment, is_dirty)
  WHERE u.is_dirty AND a.id = u.id;

  FOR i IN 1 .. coalesce(array_length(lines, 1), 0) LOOP
    INSERT INTO statement_lines (account, start_ms, period_ms, opening, refilled, spent, closing, held)
    VALUES (lines[i][1], lines[i][2], lines[i][3], lines[i][4], lines[i][5], lines[i][6], lines[i][7], lines[i][8])
    ${ADD_TO_LINE};
    -- A refill: what was told of a lower balance holds no longer.
    IF lines[i][5] > 0 THEN
      DELETE FROM told_credits t WHERE t.account = lines[i][1] AND t.below <= lines[i][7] - lines[i][8];
    END IF;
  END LOOP;

  IF cardinality(kept_at) > 0 THEN
    SELECT partition INTO part FROM idempotency_partition;
    IF part = 0 THEN
      INSERT INTO idempotency_0 (scope, id, request_digest, outcome)
      SELECT scopes[idem_scope[u.k]], idem_id[u.k], idem_digest[u.k], u.outcome FROM unnest(kept_at, kept_outcome) AS u(k, outcome);
    ELSE
      INSERT INTO idempotency_1 (scope, id, request_digest, outcome)
      SELECT scopes[idem_scope[u.k]], idem_id[u.k], idem_digest[u.k], u.outcome FROM unnest(kept_at, kept_outcome) AS u(k, outcome);
    END IF;
  END IF;
  PERFORM ledger_note_v1(committer, batch, verdicts_, now_);
  RETURN verdicts_;
END $$;`;
