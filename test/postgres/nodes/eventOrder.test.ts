import { afterAll, beforeAll, expect, test } from 'bun:test';

import { Client } from 'pg';

import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { VirtualClock } from '../../support/clock.ts';
import { open, postgresServer } from '../conformance/postgres.ts';

/** A change whose commit is held up: it has written its event, and nobody sees it yet. */
const HOLD_UP = `
  CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER hold_up AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.id = 'evt_slow') EXECUTE FUNCTION hold_up();`;
const WAITING = `SELECT count(*)::int AS waiting FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

let url: string;
let storage: PostgresStorage;
/** Another node: changes of one node that come one after the other share commits in their order. */
let other: PostgresStorage;
let holder: Client;

beforeAll(async () => {
  url = await (await postgresServer()).createDatabase();
  const clock = new VirtualClock('2026-03-15T12:00:00Z');
  [storage, other] = [await open(url, clock), await open(url, clock)];
  holder = new Client({ connectionString: url });
  await holder.connect();
});

afterAll(async () => {
  await holder.end();
  await Promise.all([storage.close(), other.close()]);
  await (await postgresServer()).dropDatabase(url);
});

test('an event whose commit is held up keeps later ones back: a reader that has gone past a sequence misses nothing below it', async () => {
  await holder.query(`${HOLD_UP} SELECT pg_advisory_lock(1)`);
  const done: string[] = [];
  const apply = (node: PostgresStorage, id: string) =>
    node.ledger.apply({ writes: [], accounts: [], events: [{ id, type: 'key.created', data: '{}' }] });
  const waiting = async () => (await holder.query<{ waiting: number }>(WAITING)).rows[0]?.waiting ?? 0;
  const list = async () => (await storage.events.list({ after: 0, types: null, limit: 10 })).map(({ id }) => id);

  const slow = apply(storage, 'evt_slow');
  while ((await waiting()) < 1);
  const fast = apply(other, 'evt_fast').finally(() => done.push('evt_fast'));
  while (done.length === 0 && (await waiting()) < 2);
  expect([done, await list()]).toEqual([[], []]);

  await holder.query('SELECT pg_advisory_unlock(1)');
  await Promise.all([slow, fast]);
  expect(await list()).toEqual(['evt_slow', 'evt_fast']);
});
