import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { KeystileNode } from '../cluster/node.ts';
import { PostgresServer } from '../cluster/postgres.ts';
import { makeMarkedProgram, type MarkedProgram } from './marked.ts';

/**
 * Which files of `src` one verification passes, from the socket to the answer. A copy of the program marks every file in which a function
 * runs; the files that every one of many verifications passes are the road. What else happens now and then is not on it.
 */
const ROADS = [
  {
    name: 'local limit',
    database: 'embedded',
    atMost: 30,
    key: { ratelimit: { async: true, limit: 1_000_000, duration: 60_000 } },
  },
  { name: 'credits', database: 'embedded', atMost: 41, key: { remaining: 1_000_000 } },
  { name: 'credits', database: 'postgres', atMost: 42, key: { remaining: 1_000_000 } },
] as const;

const WARM = 50;
const TRIPS = 60;

async function roadOf(program: MarkedProgram, node: KeystileNode, fields: object): Promise<readonly string[]> {
  const api = await node.call('/v1/apis.createApi', { name: 'road' });
  const made = await node.call('/v1/keys.createKey', { apiId: (api.body as { apiId: string }).apiId, ...fields });
  const { key } = made.body as { key: string };
  const verify = async (): Promise<void> => {
    const response = await fetch(`${node.url}/v1/keys.verifyKey`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
    });
    const { code } = (await response.json()) as { code: string };
    if (code !== 'VALID') throw new Error(`the verification was answered with ${code}`);
  };
  for (let i = 0; i < WARM; i++) await verify();
  let passed: Set<number> | null = null;
  for (let i = 0; i < TRIPS; i++) {
    program.table.fill(0);
    await verify();
    const now = new Set([...program.table.keys()].filter((number) => program.table[number] === 1));
    passed = passed === null ? now : passed.intersection(now);
  }
  return [...(passed ?? [])].map((number) => program.files[number] ?? '');
}

const folder = await mkdtemp(join(tmpdir(), 'keystile-road-'));
let failed = 0;
try {
  const program = await makeMarkedProgram(join(folder, 'program'));
  await using server = await PostgresServer.start();
  for (const [i, { name, database, atMost, key }] of ROADS.entries()) {
    const isEmbedded = database === 'embedded';
    await using node = await KeystileNode.start({
      command: program.command,
      location: 'road',
      ...(isEmbedded ? {} : { databaseUrl: await server.createDatabase() }),
      settings: isEmbedded ? { KEYSTILE_DATA: join(folder, `data-${i}`) } : {},
    });
    const files = await roadOf(program, node, key);
    const isShort = files.length <= atMost;
    if (!isShort) failed++;
    console.log(`${isShort ? 'ok    ' : 'LONGER'} ${name}, ${database}: ${files.length} files, at most ${atMost}`);
    console.log(files.map((file) => `         ${file}`).join('\n'));
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`\n${ROADS.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
