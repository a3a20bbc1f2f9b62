import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { PostgresServer } from '../../cluster/postgres.ts';
import type { Child } from '../child.ts';
import { COUNTER_ROWS } from './counters.ts';
import type { KeyShape, KeysPerCustomer } from '../fill.ts';
import { UsageError } from '../options.ts';
import { compareAndStop, type Comparison, joinComparisons, type Pace, type Side } from '../pairs.ts';
import { answersAgain, startNodes } from './postgres.ts';
import { familySeconds } from '../process.ts';
import { RequestPool } from '../requests.ts';

const THIS_FOLDER = fileURLToPath(new URL('../../../', import.meta.url));
/** The same code in another process can be a quarter slower for as long as that lives. So each row is measured with so many pairs of processes. */
const STARTS = 4;
/** What a version fills databases and starts servers with. */
const PARTS = ['fill.ts', 'fillDatabase.ts', 'child.ts'];
const ON_POSTGRES: readonly KeyShape[] = ['local', 'strict', 'credits'];

/** Customers with one key each, whose credits come from a plan: a verification reads two records. */
const PLANS = { name: 'plans', title: 'credits of a plan', shape: 'credits', addedFlushMs: 0, each: 1 } as const;

interface AgainstRow {
  readonly name: string;
  readonly title: string;
  readonly shape: KeyShape;
  readonly addedFlushMs: number;
  readonly each: KeysPerCustomer;
}

const ROWS: readonly AgainstRow[] = [...COUNTER_ROWS.map((row) => ({ ...row, each: 0 as const })), PLANS];

export interface VersionRow {
  readonly title: string;
  /** The other version is the baseline. */
  readonly comparison: Comparison;
}

/** A checkout fills its databases and starts its servers with its own code: schemas differ between versions. */
interface Version {
  readonly fillFolder: typeof import('../fill.ts').fillFolder;
  readonly fillDatabase: typeof import('../fillDatabase.ts').fillDatabase;
  readonly Child: typeof Child;
}

async function versionIn(folder: string): Promise<Version> {
  const part = async (name: string) => (await import(pathToFileURL(join(folder, 'tools/bench', name)).href)) as object;
  const parts = await Promise.all(PARTS.map(part));
  return Object.assign({}, ...parts) as Version;
}

/** The other version first. */
async function versions(against: string): Promise<readonly [Version, Version]> {
  const other = resolve(against);
  const needed = ['node_modules', ...PARTS.map((name) => join('tools/bench', name))];
  if (!needed.every((name) => existsSync(join(other, name)))) {
    throw new UsageError(`--against must be a checkout of Keystile in which \`npm ci\` was run, got ${other}.`);
  }
  return [await versionIn(other), await versionIn(THIS_FOLDER)];
}

/** This version against the one in another folder, with the embedded database. */
export async function measureAgainst(
  against: string,
  isWanted: (row: string) => boolean,
  { folder, keys, pace }: { readonly folder: string; readonly keys: number; readonly pace: Pace },
): Promise<readonly VersionRow[]> {
  const both = await versions(against);
  const wanted = ROWS.filter((row) => isWanted(row.name));
  const pool = new RequestPool(wanted.length > 0 ? keys : 0);
  const rows: VersionRow[] = [];
  for (const { name, title, shape, addedFlushMs, each } of wanted) {
    const prepare = async ({ fillFolder, Child: Servers }: Version, i: number) => {
      const data = join(folder, `${name} ${i}`);
      fillFolder(data, pool.count, shape, each);
      const start = () => Servers.startService({ folder: data, addedFlushMs });
      return async (): Promise<Side> => ({ children: [await start()], pool, keys: pool.count });
    };
    rows.push({ title, comparison: await compareVersions(both, prepare, pace) });
  }
  return rows;
}

/** The same with one and with two nodes on PostgreSQL. */
export async function measureAgainstOnPostgres(
  against: string,
  pool: RequestPool,
  pace: Pace,
): Promise<readonly VersionRow[]> {
  const both = await versions(against);
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const rows: VersionRow[] = [];
  for (const nodes of [1, 2]) {
    for (const shape of ON_POSTGRES) {
      const prepare = async ({ fillDatabase, Child: Nodes }: Version) => {
        const databaseUrl = await fillDatabase(server, pool.count, shape);
        return async (): Promise<Side> => {
          const children = await startNodes(databaseUrl, nodes, Nodes);
          const whenResumed = () => Promise.all(children.map(answersAgain));
          return { children, pool, keys: pool.count, whenResumed, databaseSeconds: () => familySeconds(server.pid) };
        };
      };
      const title = `PostgreSQL, ${nodes === 1 ? 'one node' : 'two nodes'}: ${shape}`;
      rows.push({ title, comparison: await compareVersions(both, prepare, pace) });
    }
  }
  return rows;
}

/** With new processes each time. `prepare` fills the database of a version, and answers what starts its servers. */
async function compareVersions(
  [other, own]: readonly [Version, Version],
  prepare: (version: Version, i: number) => Promise<() => Promise<Side>>,
  pace: Pace,
): Promise<Comparison> {
  const starts = [await prepare(other, 0), await prepare(own, 1)] as const;
  const comparisons: Comparison[] = [];
  for (let i = 0; i < STARTS; i++) {
    comparisons.push(await compareAndStop(await starts[0](), await starts[1](), pace));
  }
  return joinComparisons(comparisons);
}
