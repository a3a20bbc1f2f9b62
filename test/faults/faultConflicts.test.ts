import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import type { SpendOutcome } from '../../src/core/spend.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../src/storage/port/storage.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters, untilBackend } from '../support/cluster/faultLab.ts';
import { change, credits, idempotency, spendOf } from '../postgres/conformance/samples.ts';

const START = 100;
/** A batch is sent once, and again so often. */
const BATCH_TRIES = 1 + 5;
const CHANGE_TRIES = 3;
/** Less than all pauses of a batch together, when chance makes each as long as it can be. */
const LONG_PAUSES_MS = 100;
const ALWAYS = 1_000;
const CONFLICTS = ['40001', '40P01'] as const;
const AMBIGUOUS = '40003';

let lab: FaultLab;
let storage: PostgresStorage;
let [first, second, third] = [0, 0, 0];
/** What a test sets instead of real chance. */
let chance: number | null = null;

beforeAll(async () => {
  lab = await FaultLab.start();
  await lab.query(`ALTER DATABASE ${lab.database} SET deadlock_timeout = '10ms'`);
  storage = await lab.open({ random: () => chance ?? Math.random() });
  // A sequence counts also what is rolled back. The trigger runs in the commit, the last moment at which one can fail.
  await lab.query(`CREATE SEQUENCE commits;
    CREATE TABLE faults (code text, times int);
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE fault faults;
    BEGIN
      SELECT * INTO fault FROM faults;
      IF nextval('commits') <= fault.times THEN RAISE EXCEPTION 'no' USING ERRCODE = fault.code; END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER fails AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION fail()`);
});

beforeEach(async () => {
  await lab.query('TRUNCATE faults');
  chance = null;
  [first = 0, second = 0, third = 0] = await openCounters(storage, 3, START);
  // A lane is connected and has its row.
  await spend();
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

const spend = () => Promise.resolve(storage.ledger.spend(spendOf(credits(first, 1))));
const add = () => storage.ledger.apply(change({ account: first, expect: 1, refill: null, add: 7, revision: 1 }));
const balance = async (): Promise<number> => (await lab.values([first]))[0] ?? NaN;

/** The next commits fail so. */
async function failCommits(code: string, times: number): Promise<void> {
  await lab.query(`INSERT INTO faults VALUES ('${code}', ${times})`);
  await lab.query("SELECT setval('commits', 1, false)");
}

/** Commits that were tried since then. */
async function tried(): Promise<number> {
  const [row] = await lab.query('SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS tried FROM commits');
  return Number(row?.['tried']);
}

const left = (outcome: SpendOutcome): number => ('charges' in outcome ? (outcome.charges[0]?.left ?? NaN) : NaN);
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => ({ done: value }),
    (error: unknown) => error,
  );

describe('a batch whose commit fails', () => {
  test.each([...CONFLICTS, AMBIGUOUS])('with %s, and goes well at the last try: charged once', async (code) => {
    await failCommits(code, BATCH_TRIES - 1);
    const answers = await Promise.all([spend(), spend(), spend()]);
    expect(answers.map(left)).toEqual([START - 2, START - 3, START - 4]);
    expect(await tried()).toBe(BATCH_TRIES);
    expect(await balance()).toBe(START - 4);
  });

  test.each([...CONFLICTS, AMBIGUOUS])(
    'with %s every time: given up after so many tries, not charged',
    async (code) => {
      await failCommits(code, ALWAYS);
      const answers = await Promise.all([failure(spend()), failure(spend())]);
      for (const answer of answers) expect(answer).toBeInstanceOf(StorageUnavailable);
      expect(await tried()).toBe(BATCH_TRIES);
      expect(await balance()).toBe(START - 1);
      await lab.query('TRUNCATE faults');
      expect(left(await spend())).toBe(START - 2);
    },
  );

  test('with an idempotency key: charged once, and replayed to who asks again', async () => {
    const asked = { charges: [credits(first, 1)], fences: [], idempotency: idempotency(crypto.randomUUID()) };
    await failCommits('40001', BATCH_TRIES - 1);
    for (const replayed of [false, true]) {
      const answer = await Promise.resolve(storage.ledger.spend(asked));
      expect(answer).toMatchObject({ status: 'taken', replayed, charges: [{ left: START - 2 }] });
    }
    expect(await tried()).toBe(BATCH_TRIES);
    expect(await balance()).toBe(START - 2);
  });

  test('is sent again after pauses that chance makes', async () => {
    await failCommits('40001', BATCH_TRIES - 1);
    chance = 1;
    const startedAtMs = performance.now();
    await spend();
    expect(performance.now() - startedAtMs).toBeGreaterThan(LONG_PAUSES_MS);
    expect(await tried()).toBe(BATCH_TRIES);
  });
});

describe('a batch that is ended because two wait for each other', () => {
  test('is sent again when the other one is through: charged once', async () => {
    const [before, other] = [await lab.client(), await lab.client()];
    const hold = 'SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE';
    await before.query('BEGIN');
    await before.query(hold, [second]);
    // The other one waits for ever: it is the batch that has to give way.
    await other.query("BEGIN; SET LOCAL deadlock_timeout = '1h'");
    await other.query(hold, [third]);
    const answer = Promise.resolve(
      storage.ledger.spend(spendOf(credits(first, 1), credits(second, 1), credits(third, 1))),
    );
    const waits = "wait_event_type = 'Lock'";
    await untilBackend(lab, `application_name LIKE '${lab.database} %' AND ${waits}`);
    const inTheWay = other.query(hold, [first]);
    await untilBackend(lab, `application_name = '' AND datname = '${lab.database}' AND ${waits}`);
    await before.query('COMMIT');
    await inTheWay;
    expect(lab.server.logTail()).toContain(' 40P01 ');
    await other.query('COMMIT');
    const taken = { status: 'taken', charges: [{ left: START - 2 }, { left: START - 1 }, { left: START - 1 }] };
    expect(await answer).toMatchObject(taken);
    expect(await lab.values([first, second, third])).toEqual([START - 2, START - 1, START - 1]);
  });
});

describe('a batch that was committed, and of which the database says that it does not know (40003)', () => {
  test('is answered by what the row of its committer says, and charged once', async () => {
    await using own = await FaultLab.start();
    await (await own.open()).close();
    await own.query(
      'CREATE EXTENSION dblink; CREATE SEQUENCE fired; ALTER FUNCTION ledger_take_v1 RENAME TO really_take',
    );
    const [made] = await own.query(`SELECT pg_get_function_arguments('really_take'::regproc) AS args`);
    const args = String(made?.['args']);
    const names = args.split(', ').map((each) => `${each.split(' ')[0]}::text`);
    const address = `host=127.0.0.1 port=${own.server.port} user=postgres dbname=${own.database}`;
    // In a session of its own, so that what it did stays done.
    await own.query(`CREATE FUNCTION ledger_take_v1(${args}) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM nextval('fired');
        PERFORM * FROM dblink('${address}', format('SELECT really_take(${names.map(() => '%L').join()})', ${names.join()}))
          AS answer(verdicts text);
        RAISE EXCEPTION 'who knows' USING ERRCODE = '${AMBIGUOUS}';
      END $$`);
    const node = await own.open();
    const [account = 0] = await openCounters(node, 1, START);
    const answers = await Promise.all(
      [1, 2, 3].map(() => Promise.resolve(node.ledger.spend(spendOf(credits(account, 1))))),
    );
    expect(answers.map(left)).toEqual([START - 1, START - 2, START - 3]);
    expect(await own.values([account])).toEqual([START - 3]);
    // One batch, or one for each of them: all answers came out of the doubt.
    const [row] = await own.query('SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS fired FROM fired');
    expect([1, 2, 3]).toContain(Number(row?.['fired']));
  });
});

describe('a change whose commit fails', () => {
  test.each(CONFLICTS)('with %s, and goes well at the last try: done once', async (code) => {
    await failCommits(code, CHANGE_TRIES - 1);
    expect(await add()).toMatchObject({ status: 'done' });
    expect(await tried()).toBe(CHANGE_TRIES);
    expect(await balance()).toBe(START - 1 + 7);
  });

  test.each(CONFLICTS)('with %s every time: given up after so many tries, not done', async (code) => {
    await failCommits(code, ALWAYS);
    expect(await failure(add())).toBeInstanceOf(StorageUnavailable);
    expect(await tried()).toBe(CHANGE_TRIES);
    expect(await balance()).toBe(START - 1);
  });

  test('with 40003: told as unknown and not tried again, for it may have been done', async () => {
    await failCommits(AMBIGUOUS, ALWAYS);
    expect(await failure(add())).toBeInstanceOf(StorageOutcomeUnknown);
    expect(await tried()).toBe(1);
  });
});
