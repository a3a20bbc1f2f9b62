import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';

import { StorageOutcomeUnknown, StorageUnavailable } from '../../src/storage/port/storage.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { FaultLab, untilBackend } from '../support/cluster/faultLab.ts';
import { entry, key } from '../postgres/conformance/samples.ts';

const COUNT = 20;

let lab: FaultLab;
let storage: PostgresStorage;
let round = 0;

beforeAll(async () => {
  lab = await FaultLab.start();
  storage = await lab.open();
});

beforeEach(() => {
  round++;
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

const idOf = (i: number): string => `key ${round} ${i}`;

/** Creates keys, all in one turn of the event loop. */
const create = () =>
  Array.from({ length: COUNT }, (_, i) => {
    const entries = [entry('key.create', { target: idOf(i) })];
    return storage.ledger.apply({ writes: [{ kind: 'insertKey', key: key(idOf(i)) }], accounts: [], entries });
  });

const failures = (work: readonly Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(
    work.map((each) =>
      each.then(
        () => null,
        (error: unknown) => error,
      ),
    ),
  );

const stored = async (): Promise<number> =>
  (await lab.query('SELECT 1 FROM keys WHERE id = ANY ($1)', [Array.from({ length: COUNT }, (_, i) => idOf(i))]))
    .length;

const lastChange = async (): Promise<number> =>
  Number((await lab.query('SELECT number FROM change_counter'))[0]?.['number']);

const isCommit = (bytes: Buffer): boolean => bytes.includes('COMMIT');
const isWrite = (bytes: Buffer): boolean => bytes.includes('insert_keys');

test('changes of one turn share one commit, which other nodes hear of as one', async () => {
  const before = await lastChange();
  const outcomes = await Promise.all(create());
  expect(outcomes.every(({ status }) => status === 'done')).toBe(true);
  expect(await lastChange()).toBe(before + 1);
  const [row] = await lab.query('SELECT keys FROM changes WHERE number = $1', [before + 1]);
  const digests = Array.from({ length: COUNT }, (_, i) => `digest of ${idOf(i)}`);
  expect(new Set(row?.['keys'] as string[])).toEqual(new Set(digests));
});

test('a commit that is not confirmed is unknown to each of them: all are stored, or none', async () => {
  const cut = lab.proxy.cutBeforeAnswer(isCommit);
  for (const failure of await failures(create())) expect(failure).toBeInstanceOf(StorageOutcomeUnknown);
  await cut;
  expect([0, COUNT]).toContain(await stored());
});

test('a commit that did not arrive is unknown to each of them, and none is stored', async () => {
  const cut = lab.proxy.cutNext(isCommit);
  for (const failure of await failures(create())) expect(failure).toBeInstanceOf(StorageOutcomeUnknown);
  await cut;
  expect(await stored()).toBe(0);
});

test('a connection that is lost before the commit was sent: each is told that nothing was changed', async () => {
  const cut = lab.proxy.cutBeforeAnswer(isWrite);
  for (const failure of await failures(create())) expect(failure).toBeInstanceOf(StorageUnavailable);
  await cut;
  expect(await stored()).toBe(0);
  expect((await Promise.all(create())).every(({ status }) => status === 'done')).toBe(true);
});

test('a row that another transaction holds keeps back the one change that needs it', async () => {
  await storage.ledger.apply({ writes: [{ kind: 'insertKey', key: key('held') }], accounts: [] });
  const holder = await lab.client();
  await holder.query('BEGIN');
  await holder.query(`UPDATE keys SET name = 'held' WHERE id = 'held'`);
  const renamed = key('held', { name: 'renamed', revision: 2 });
  const waiting = storage.ledger.apply({ writes: [{ kind: 'updateKey', key: renamed, expect: 1 }], accounts: [] });
  expect((await Promise.all(create())).every(({ status }) => status === 'done')).toBe(true);
  await untilBackend(lab, `wait_event_type = 'Lock' AND query LIKE 'UPDATE keys%'`);
  await holder.query('COMMIT');
  expect(await waiting).toMatchObject({ status: 'done' });
});

test('a shared commit waits briefly for rows, and as long as a statement may for its number', async () => {
  await lab.query(`CREATE TABLE waits (what text, lock_timeout text);
    CREATE FUNCTION note_wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO waits VALUES (TG_TABLE_NAME, current_setting('lock_timeout'));
      RETURN NULL;
    END $$;
    CREATE TRIGGER noted AFTER INSERT ON keys FOR EACH STATEMENT EXECUTE FUNCTION note_wait();
    CREATE TRIGGER noted AFTER UPDATE ON change_counter FOR EACH STATEMENT EXECUTE FUNCTION note_wait()`);
  await Promise.all(create());
  expect(await lab.query('SELECT what, lock_timeout FROM waits')).toEqual([
    { what: 'keys', lock_timeout: '100ms' },
    { what: 'change_counter', lock_timeout: '3s' },
  ]);
});
