import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';

import { SCHEMA_VERSION } from '../../src/storage/postgres/schema/schema.ts';
import { VERSION } from '../../src/version.ts';
import { KeystileNode } from '../../tools/cluster/node.ts';
import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { until } from '../../tools/cluster/wait.ts';
import { keystile } from '../process/cli/cliRun.ts';
import { examined } from '../process/cli/doctorRun.ts';
import { NextProgram } from '../process/nextProgram.ts';
import { runToEnd } from '../process/process.ts';

setDefaultTimeout(60_000);

/**
 * One version of the program exists, so the next one is made here: a copy of it with another version, one more migration that this program can
 * work with, and later one that it cannot. The tests go through an upgrade from its beginning to its end, in this order.
 */
const NEXT = '99.0.0';
/** Every table gains a column: whatever a next version adds, this program must not stumble over it. */
const ADDITIVE = {
  compatibleFrom: SCHEMA_VERSION,
  sql: `LOCK TABLE keys, identities, apis, changes;
    DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN note text NOT NULL DEFAULT ''none''', name);
      END LOOP;
    END $$`,
  indexes: 'CREATE INDEX keys_by_note ON keys (note); CREATE INDEX accounts_by_note ON accounts (note)',
};
const BREAKING = { compatibleFrom: SCHEMA_VERSION + 2, sql: 'ALTER TABLE keys DROP COLUMN note', indexes: '' };

let postgres: PostgresServer;
let next: NextProgram;
let older: KeystileNode;
let newer: KeystileNode;
let apiId = '';

const start = (location: string, command?: readonly string[]): Promise<KeystileNode> =>
  KeystileNode.start({ databaseUrl: postgres.url(), location, ...(command === undefined ? {} : { command }) });

beforeAll(async () => {
  postgres = await PostgresServer.start();
  next = new NextProgram();
  next.setVersion(NEXT);
  next.addToShared(ADDITIVE);
  older = await start('older');
  apiId = String((await older.call('/v1/apis.createApi', { name: 'mixed' })).body['apiId']);
});

afterAll(async () => {
  await older?.[Symbol.asyncDispose]();
  await newer?.[Symbol.asyncDispose]();
  next?.[Symbol.dispose]();
  await postgres?.[Symbol.asyncDispose]();
});

async function newKey(fields: Record<string, unknown>): Promise<{ key: string; keyId: string }> {
  const { status, body } = await older.call('/v1/keys.createKey', { apiId, ...fields });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as { key: string; keyId: string };
}

/** Verifies until told to stop. Returns how many were valid; an answer that is no verdict fails. */
async function spendOn(node: KeystileNode, key: string, isOver: () => boolean): Promise<number> {
  let valid = 0;
  while (!isOver()) {
    const { status, body } = await node.verify({ key });
    if (status !== 200) throw new Error(`${node.location} answered ${status}: ${JSON.stringify(body)}`);
    if (body['valid'] === true) valid++;
  }
  return valid;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

test('a newer node migrates the database while an older one serves, and no spend is lost, doubled or refused', async () => {
  const { key, keyId } = await newKey({ remaining: 1_000_000 });
  let isOver = false;
  const before = Array.from({ length: 4 }, () => spendOn(older, key, () => isOver));
  newer = await start('newer', next.serve);
  let left = 200;
  const after = [newer, newer, older, older].map((node) => spendOn(node, key, () => left-- <= 0));
  const counted = [...(await Promise.all(after)), ...((isOver = true), await Promise.all(before))];
  expect(sum(counted)).toBeGreaterThan(200);
  for (const node of [older, newer]) {
    expect((await node.call(`/v1/keys.getKey`, { keyId })).body['remaining']).toBe(1_000_000 - sum(counted));
  }
  const rows = await postgres.query(`SELECT name, value FROM installation WHERE name LIKE 'schema_%' ORDER BY name`);
  expect(rows.map(({ value }) => value)).toEqual([
    String(SCHEMA_VERSION),
    expect.any(String),
    String(SCHEMA_VERSION + 1),
  ]);
});

test('N credits give N valid verifications over both versions, never one more', async () => {
  const { key } = await newKey({ remaining: 150 });
  const nodes = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? older : newer));
  const answers = await Promise.all(nodes.map((node) => node.verify({ key })));
  expect(answers.filter(({ body }) => body['valid'] === true).length).toBe(150);
  expect(answers.filter(({ body }) => body['code'] === 'USAGE_EXCEEDED').length).toBe(50);
});

test('what one version changes holds on the other within KEYSTILE_STALE_MAX, both ways', async () => {
  for (const [changing, asked] of [
    [newer, older],
    [older, newer],
  ] as const) {
    const { key, keyId } = await newKey({});
    await until('the other node knows the key', async () => (await asked.verify({ key })).body['valid'] === true);
    expect((await changing.call('/v1/keys.updateKey', { keyId, enabled: false })).status).toBe(200);
    const changedAtMs = performance.now();
    let sentAtMs = 0;
    let lastValidMs = -Infinity;
    await until('the other node refuses the key', async () => {
      sentAtMs = performance.now();
      const { body } = await asked.verify({ key });
      if (body['valid'] === true) lastValidMs = sentAtMs;
      return body['code'] === 'DISABLED';
    });
    // No request that was sent later than that was let through, however slow this machine is.
    expect(lastValidMs - changedAtMs).toBeLessThan(1_000);
  }
});

test('the status of either node, the doctor and keystile nodes show both versions', async () => {
  const versions = [VERSION, NEXT].sort();
  for (const node of [older, newer]) {
    const { body } = await node.call('/v1/service.getStatus', {});
    const { nodes, problems } = body as { nodes: { version: string }[]; problems: { name: string; text: string }[] };
    expect(nodes.map(({ version }) => version).sort()).toEqual(versions);
    expect(problems.find(({ name }) => name === 'versions')?.text).toBe(
      `The nodes run different versions: ${versions.join(', ')}.`,
    );
  }
  const environment = {
    KEYSTILE_DATABASE_URL: postgres.url(),
    KEYSTILE_ALLOW_FSYNC_OFF: 'on',
    KEYSTILE_METRICS_PORT: '0',
  };
  const found = await examined({ ...environment, KEYSTILE_PORT: String(older.port), KEYSTILE_MAX_CONNECTIONS: '100' });
  expect(found.find('schema')?.result).toBe('ok');
  expect(found.find('versions')).toMatchObject({ text: expect.stringContaining(versions.join(', ')) });
  const { out } = await keystile(['nodes'], { environment });
  for (const version of versions) expect(out).toContain(` ${version} `);
});

test('an older node that is stopped starts again on the migrated database, and leaves it as it is', async () => {
  expect(await older.stop()).toBe(0);
  older = await start('older');
  const { key } = await newKey({ remaining: 1 });
  expect((await newer.verify({ key })).body).toMatchObject({ valid: true, remaining: 0 });
  expect((await older.verify({ key })).body).toMatchObject({ code: 'USAGE_EXCEEDED' });
});

const breakingStart = (): Promise<{ code: number; stdout: string; stderr: string }> => {
  next.addToShared(ADDITIVE, BREAKING);
  return runToEnd({ command: next.serve, settings: { KEYSTILE_DATABASE_URL: postgres.url() } });
};

test('a version that the running nodes cannot work with is refused with their names, and they go on', async () => {
  const { code, stdout, stderr } = await breakingStart();
  expect([code, stdout]).toEqual([78, '']);
  expect(stderr).toMatch(
    new RegExp(
      `^The database cannot be migrated from schema version ${SCHEMA_VERSION + 1} to ${SCHEMA_VERSION + 2} while nodes of an older version run: newer \\(node_\\w+, version 99\\.0\\.0\\), older \\(node_\\w+, version [\\d.]+\\)\\. Stop them, then start this one\\. A node that was killed counts as running for 10 s\\.\\n$`,
    ),
  );
  const { key } = await newKey({ remaining: 1 });
  expect((await newer.verify({ key })).body).toMatchObject({ valid: true });
  expect(await newer.stop()).toBe(0);
});

test('a node that slept through such a migration answers nothing more, says why and ends; it cannot start again', async () => {
  older.pause();
  // Ten seconds of silence, without waiting for them.
  await postgres.query('UPDATE nodes SET seen_at_ms = seen_at_ms - 10001');
  next.addToShared(ADDITIVE, BREAKING);
  newer = await start('newest', next.serve);
  older.resume();
  const sentence = `The database has schema version ${SCHEMA_VERSION + 2}, which needs a program for version ${SCHEMA_VERSION + 2} or newer; this one is for ${SCHEMA_VERSION}. Start the newer program that migrated it.`;
  expect(await older.child.exited()).toBe(78);
  expect(older.child.stderr).toContain(
    'the database was migrated to a version that this program does not know: the service stops',
  );
  expect(older.child.stderr).toContain(sentence);
  const refused = await runToEnd({ settings: { KEYSTILE_DATABASE_URL: postgres.url() } });
  expect(refused).toEqual({ code: 78, stdout: '', stderr: `${sentence}\n` });
  const { body } = await newer.call('/v1/apis.listKeys', { apiId });
  expect(body['total']).toBeGreaterThan(0);
});
