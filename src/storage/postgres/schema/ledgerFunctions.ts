/**
 * The functions of the ledger inside the database, except those for spends. Each function has its version in its name, and is never edited
 * after its release: older nodes still call it while nodes are replaced one by one.
 */

/** The committer of a batch has no row, because it was idle for so long that the row was removed. */
export const NO_COMMITTER = 'KS001';
/** The node of a batch has given the batch up and taken its number. */
export const NUMBER_TAKEN = 'KS002';

/**
 * The clock of the ledger, in milliseconds. A time that the caller sends (in tests) is used instead.
 */
const NOW = `
CREATE FUNCTION ledger_now_v1(at_ms bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(at_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;`;

/** Locks accounts in the order of their ids, then reads the clock. Returns the time, and eight numbers of each existing account. */
const LOCK = `
CREATE FUNCTION ledger_lock_v1(ids bigint[], at_ms bigint) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  answer bigint[] := '{0}'; row_ record;
BEGIN
  FOR row_ IN SELECT * FROM accounts a WHERE a.id = ANY (ids) ORDER BY a.id FOR UPDATE LOOP
    answer := answer || ARRAY[row_.id, row_.kind, row_.value, row_.mark, row_.due_at_ms, row_.revision,
      row_.base, row_.segment_ms];
  END LOOP;
  answer[1] := ledger_now_v1(at_ms);
  RETURN answer;
END $$;`;

/** Removes these windows if they ended by then. One that a spend holds right now is left for the next time. */
const CLOSE_WINDOWS = `
CREATE FUNCTION ledger_close_windows_v1(these bigint[], ended_by_ms bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  ended bigint[];
BEGIN
  ended := ARRAY(
    SELECT a.id FROM accounts a WHERE a.id = ANY (these) AND a.mark <= ended_by_ms ORDER BY a.id FOR UPDATE SKIP LOCKED
  );
  DELETE FROM adhoc_windows w WHERE w.account = ANY (ended);
  DELETE FROM accounts a WHERE a.id = ANY (ended);
END $$;`;

/** A batch takes its number in its own transaction. If the number is taken, the batch was done, and the row has its answer. */
const NOTE = `
CREATE FUNCTION ledger_note_v1(committer bigint, number bigint, answer text, now_ms bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE committers AS t SET batch = number, verdicts = answer, used_at_ms = now_ms WHERE t.id = committer AND t.batch < number;
  IF FOUND THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM committers AS t WHERE t.id = committer) THEN
    RAISE EXCEPTION 'batch % of committer % was given up', number, committer USING ERRCODE = '${NUMBER_TAKEN}';
  END IF;
  RAISE EXCEPTION 'there is no committer %', committer USING ERRCODE = '${NO_COMMITTER}';
END $$;`;

/**
 * Finds out the outcome of a batch whose answer did not arrive. Takes its number if it is free: then the batch was not done and never will
 * be (NULL). Writes in any case, so that the answer waits for the standby that the batch's commit may have missed.
 */
const RESOLVE = `
CREATE FUNCTION ledger_resolve_v1(committer bigint, number bigint) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  known text;
BEGIN
  UPDATE committers AS t SET batch = number, verdicts = NULL WHERE t.id = committer AND t.batch < number;
  IF FOUND THEN RETURN NULL; END IF;
  UPDATE committers AS t SET resolved = t.resolved + 1 WHERE t.id = committer AND t.batch = number RETURNING t.verdicts INTO known;
  RETURN known;
END $$;`;

/**
 * The account of an ad-hoc window, made on first use; NULL if its owner has as many live ones as allowed. Without a maximum, the windows of
 * the owner are not counted and do not wait for each other: a namespace has very many.
 */
const OPEN_WINDOW = `
CREATE FUNCTION ledger_open_window_v1(of_owner text, of_name text, of_duration bigint, at_ms bigint, max_windows int)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  found_account bigint; now_ bigint;
BEGIN
  SELECT w.account INTO found_account FROM adhoc_windows w
  WHERE w.owner = of_owner AND w.name = of_name AND w.duration_ms = of_duration;
  IF FOUND THEN RETURN found_account; END IF;
  -- One at a time: the next one sees what this one made, and the bound of an owner holds.
  PERFORM pg_advisory_xact_lock(hashtextextended(
    CASE WHEN max_windows IS NULL THEN of_owner || chr(31) || of_duration || chr(31) || of_name ELSE of_owner END, 1));
  SELECT w.account INTO found_account FROM adhoc_windows w
  WHERE w.owner = of_owner AND w.name = of_name AND w.duration_ms = of_duration;
  IF FOUND THEN RETURN found_account; END IF;
  now_ := ledger_now_v1(at_ms);
  IF max_windows IS NOT NULL THEN
    IF (SELECT count(*) FROM adhoc_windows w WHERE w.owner = of_owner) >= max_windows THEN
      PERFORM ledger_close_windows_v1(ARRAY(SELECT w.account FROM adhoc_windows w WHERE w.owner = of_owner), now_);
      IF (SELECT count(*) FROM adhoc_windows w WHERE w.owner = of_owner) >= max_windows THEN RETURN NULL; END IF;
    END IF;
  END IF;
  found_account := nextval('account_numbers');
  -- It runs from now on: one that has never been used is not one that has ended.
  INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision)
  VALUES (found_account, 1, 0, (now_ / of_duration + 1) * of_duration, 0, 0);
  INSERT INTO adhoc_windows (owner, name, duration_ms, account) VALUES (of_owner, of_name, of_duration, found_account);
  RETURN found_account;
END $$;`;

export const LEDGER_FUNCTIONS = [NOW, LOCK, CLOSE_WINDOWS, NOTE, RESOLVE, OPEN_WINDOW].join('\n');
