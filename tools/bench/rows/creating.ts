import { PostgresServer } from '../../cluster/postgres.ts';
import { Child } from '../child.ts';
import { addRootKey, API_ID, fillFolder, ROOT_KEY } from '../fill.ts';
import { fillDatabase } from '../fillDatabase.ts';
import { median } from '../statistics.ts';

/** Keys that one round creates. */
const KEYS = 8_000;
/** Callers that each create one key after the other. */
const CALLERS = 16;
const KEYS_PER_CALL = 1_000;
const ROUNDS = 3;

export interface CreatingResult {
  readonly keys: number;
  readonly embedded: CreatingTimes;
  readonly postgres: CreatingTimes;
}

/** Medians of the rounds, in seconds. */
export interface CreatingTimes {
  readonly oneByOneSeconds: number;
  readonly inBulkSeconds: number;
}

/** Creates 8,000 keys with credits over HTTP: one by one by 16 callers, and in calls of 1,000. Every commit is flushed. */
export async function measureCreating(folder: string): Promise<CreatingResult> {
  fillFolder(folder, 1, 'plain');
  addRootKey(folder);
  const embedded = await measure(await Child.startService({ folder, addedFlushMs: 0 }));
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const postgres = await measure(await Child.startNode({ databaseUrl: await fillDatabase(server, 1, 'plain') }));
  return { keys: KEYS, embedded, postgres };
}

async function measure(child: Child): Promise<CreatingTimes> {
  const oneByOne: number[] = [];
  const inBulk: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    oneByOne.push(await secondsOneByOne(child.port));
    inBulk.push(await secondsInBulk(child.port));
  }
  await child.stop();
  return { oneByOneSeconds: median(oneByOne), inBulkSeconds: median(inBulk) };
}

export async function secondsOneByOne(port: number): Promise<number> {
  const startedAtMs = performance.now();
  let made = 0;
  const create = async (): Promise<void> => {
    while (made++ < KEYS) await post(port, 'keys.createKey', { apiId: API_ID, ...FIELDS });
  };
  await Promise.all(Array.from({ length: CALLERS }, create));
  return (performance.now() - startedAtMs) / 1000;
}

export async function secondsInBulk(port: number): Promise<number> {
  const startedAtMs = performance.now();
  const keys = Array.from({ length: KEYS_PER_CALL }, () => FIELDS);
  for (let made = 0; made < KEYS; made += KEYS_PER_CALL) await post(port, 'keys.createKeys', { apiId: API_ID, keys });
  return (performance.now() - startedAtMs) / 1000;
}

/** What a new key usually has. */
const FIELDS = { name: 'Ann, production', meta: { plan: 'free' }, remaining: 100 };

/** A call of the management API that must succeed. */
async function post(port: number, route: string, fields: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ROOT_KEY}` },
    body: JSON.stringify(fields),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${route} answered ${response.status}: ${text}`);
}
