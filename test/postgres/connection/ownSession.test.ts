import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test';

import type { Client } from 'pg';

import type { NewReservation, Reservation } from '../../../src/core/reservation.ts';
import { CountColumns } from '../../../src/core/verificationCounts.ts';
import { Connector } from '../../../src/storage/postgres/connection/connector.ts';
import { ConnectionLost } from '../../../src/storage/postgres/connection/databaseError.ts';
import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { LedgerClock } from '../../../src/storage/postgres/connection/ledgerClock.ts';
import { POOLED, sessionOf } from '../../../src/storage/postgres/connection/ownSession.ts';
import { BEAT } from '../../../src/storage/postgres/freshness/freshness.ts';
import type { Batch } from '../../../src/storage/postgres/ledger/batch.ts';
import { Committer } from '../../../src/storage/postgres/ledger/committer.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters } from '../../support/cluster/faultLab.ts';
import { credits, idempotency, spendOf, verificationCount } from '../conformance/samples.ts';

/**
 * What a pooler does to a connection: its next statement runs in a session that somebody else has made, with other settings. Here it is the same
 * session, from which the token and the settings are taken.
 */
const DISOWN = `SELECT set_config('keystile.session', 'of another', false), set_config('synchronous_commit', 'off', false)`;
const REFUSAL = 'this is not the session that the node has opened';
/** Another program behind the pooler has changed a setting, and the token is still there. */
const LOOSEN = 'SET synchronous_commit = off';

let lab: FaultLab;
let storage: PostgresStorage;
/** All connections that were ever opened here. */
const clients: Client[] = [];
/** Sent on each new connection before it is used. */
let taking: string | null = null;
// It is called with its own connector.
// oxlint-disable-next-line typescript/unbound-method
const connect = Connector.prototype.connect;
const connects = spyOn(Connector.prototype, 'connect').mockImplementation(async function (this: Connector, ...given) {
  const client = await connect.apply(this, given);
  clients.push(client);
  if (taking !== null) await client.query(taking);
  return client;
});

let account = 0;
let nextId = 0;
let batch = 0;

const TERMS: NewReservation = {
  id: 'rsv_0',
  keyId: 'key_1',
  apiId: 'api_1',
  identityId: null,
  cost: 1,
  ttlMs: 3_600_000,
  onExpiry: 'release',
  idempotency: null,
  metered: [],
  following: [],
  isOnlyFound: false,
  counted: { tags: null, identityId: null },
};

beforeAll(async () => {
  lab = await FaultLab.start();
  storage = await lab.open();
  [account = 0] = await openCounters(storage, 1, 1_000_000);
  await lab.query(`CREATE TABLE loose_commits (name text);
    CREATE FUNCTION note_loose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN INSERT INTO loose_commits VALUES (TG_TABLE_NAME); END IF; RETURN NULL; END $$;
    DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'loose_commits' LOOP
        EXECUTE format('CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION note_loose()', name);
      END LOOP; END $$`);
});

afterEach(async () => {
  await giveSessionsBack();
  await lab.query('DELETE FROM loose_commits');
});

afterAll(async () => {
  connects.mockRestore();
  await lab[Symbol.asyncDispose]();
});

const reserve = async (): Promise<Reservation> => {
  const id = `rsv_${nextId++}`;
  const { spend, reservation } = await storage.ledger.reserve(spendOf(credits(account, 1)), { ...TERMS, id });
  expect(spend.status).toBe('taken');
  return reservation as Reservation;
};

/** A committer of its own, with a row that does not exist yet. */
function newCommitter(monotonicMs: () => number): Committer {
  const clock = new LedgerClock({ monotonicMs, wallClockMs: Date.now }, false);
  const [committer] = Committer.share(new Connector(parseAddress(lab.url), 'other'), 1, {
    clock,
    random: Math.random,
    monotonicMs,
  });
  if (committer === undefined) throw new Error('no committer');
  return committer;
}

const EMPTY: Batch = { size: 0, read: () => [], ask: async () => '' };

/** Everything that a node writes, and what decides how fresh it is. */
const OPERATIONS: Readonly<Record<string, () => PromiseLike<unknown>>> = {
  'a plain spend': () => storage.ledger.spend(spendOf(credits(account, 1))),
  'a general spend': () =>
    storage.ledger.spend({
      charges: [credits(account, 1)],
      fences: [],
      idempotency: idempotency(`general ${nextId++}`),
    }),
  'the row of a committer': async () => {
    const committer = newCommitter(() => 0);
    try {
      await committer.run(EMPTY, 'never');
    } finally {
      await committer.close();
    }
  },
  'a change': () => openCounters(storage, 1, 5),
  'a reservation': reserve,
  'the end of a reservation': async () => storage.ledger.endReservation(reserved.id, { kind: 'release' }),
  'reservations that have expired': () =>
    storage.ledger.expireReservations([{ reservation: reserved, marks: [], event: null }]),
  'a window': () => storage.ledger.openWindow({ owner: `key_${nextId++}`, name: 'a', durationMs: 60_000 }, 5),
  'the end of windows': () => storage.ledger.closeEndedWindows('key_1', 10, null),
  'numbers of accounts': () => storage.ledger.reserveAccounts(1_000),
  'a remembered answer': () => storage.ledger.findAnswer(idempotency('general 0')),
  pruning: () => storage.ledger.prune(),
  'the list of nodes': () => storage.sayHello(null),
  'a node that is gone': () => storage.forgetNode('node_gone'),
  'local counts': () => storage.localCounts.sync([], true),
  'news of changes': () => storage.freshness.confirm(),
  'counts of verifications': () =>
    storage.analytics.add(CountColumns.of([verificationCount({ keyId: 'key_1' })]), ++batch),
  'the sums of counts': () => storage.analytics.fold(),
  'old counts': () => storage.analytics.prune('minute', 0),
  'old events': () => storage.events.prune(0),
  'old lines of statements': () => storage.statements.prune(0, 0),
  'work of one node': () => storage.exclusively(async () => {}),
};

let reserved: Reservation;

/** Takes their sessions from all connections, those that are opened from now on too. */
async function takeSessions(sql: string): Promise<void> {
  taking = sql;
  await Promise.all(clients.map((client) => client.query(sql).catch(() => {})));
}

async function giveSessionsBack(): Promise<void> {
  taking = null;
  const own = `SELECT set_config('keystile.session', $1, false), set_config('synchronous_commit', 'on', false)`;
  await Promise.all(clients.map((client) => client.query(own, [sessionOf(client)]).catch(() => {})));
}

test('no heartbeat is sent in a session of somebody else: it says that the standby follows', () => {
  expect(lab.query(BEAT, ['of another'])).rejects.toThrow(REFUSAL);
});

describe.each([
  ['of somebody else', DISOWN],
  ['in which somebody else has let commits be loose', LOOSEN],
])('a session %s', (_, sql) => {
  test.each(Object.keys(OPERATIONS))('is not used for %s', async (name) => {
    const operation = OPERATIONS[name] ?? (() => Promise.reject(new Error(name)));
    reserved = await reserve();
    // The connection is there, and knows the statements.
    await operation();
    reserved = await reserve();
    await takeSessions(sql);
    const refused = await Promise.resolve(operation()).then(() => 'done', String);
    expect(refused).toContain(REFUSAL);
    expect(await lab.query('SELECT DISTINCT name FROM loose_commits')).toEqual([]);
    expect([storage.outage, storage.ledger.commitFailure, storage.ledger.commitRefusedFor]).toEqual([
      POOLED,
      POOLED,
      'pooler',
    ]);
    await giveSessionsBack();
    await operation();
  });

  test('is not asked what became of a batch', async () => {
    let nowMs = 0;
    const committer = newCommitter(() => (nowMs += 1_000));
    const lost: Batch = {
      ...EMPTY,
      size: 1,
      async ask() {
        taking = sql;
        throw new ConnectionLost('it broke');
      },
    };
    const refused = await committer.run(lost, 'never').then(() => 'done', String);
    expect(refused).toStartWith('StorageOutcomeUnknown: The database did not confirm');
    expect(refused).toContain(REFUSAL);
    await committer.close();
  });
});
