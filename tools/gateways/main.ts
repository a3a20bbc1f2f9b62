import { join } from 'node:path';

import { TempFolder } from '../../test/process/process.ts';
import { BrokenPromise, type Case } from './case.ts';
import { CONNECTION_CASES } from './cases/connections.ts';
import { KEY_CASES } from './cases/keys.ts';
import { MESSAGE_CASES } from './cases/messages.ts';
import { smuggling } from './cases/smuggling.ts';
import { App } from './forward/app.ts';
import { forwardCaddy } from './forward/caddy.ts';
import type { ForwardCase } from './forward/case.ts';
import { CLIENT_CASES } from './forward/clientCases.ts';
import { forwardHaproxy } from './forward/haproxy.ts';
import type { ForwardKind } from './forward/kind.ts';
import { forwardNginx } from './forward/nginx.ts';
import type { ClusterCase } from './cluster/case.ts';
import { outage } from './cluster/outage.ts';
import { POOLER_CASES } from './cluster/poolers.ts';
import { pgbouncer } from './cluster/pgbouncer.ts';
import { rolling } from './cluster/rolling.ts';
import { VERDICT_CASES } from './forward/verdictCases.ts';
import type { GatewayKind } from './gateway.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { Node } from './node.ts';
import { readOptions, USAGE, UsageError } from './options.ts';

const KINDS: readonly GatewayKind[] = [nginx, haproxy];
const CASES: readonly Case[] = [...CONNECTION_CASES, ...MESSAGE_CASES, smuggling, ...KEY_CASES];
const FORWARD_KINDS: readonly ForwardKind[] = [forwardNginx, forwardHaproxy, forwardCaddy];
const FORWARD_CASES: readonly ForwardCase[] = [...VERDICT_CASES, ...CLIENT_CASES];
const CLUSTER_CASES: readonly ClusterCase[] = [rolling, outage, ...POOLER_CASES];
/** Everything that Debian's packages bring. */
const PROGRAMS: readonly Installable[] = [...FORWARD_KINDS, pgbouncer];
const INTERRUPTED = 130;

/** All started processes. They are stopped in reverse order. */
const started = new AsyncDisposableStack();

/** Returns the exit code. */
async function main(): Promise<number> {
  const { isHelp, gateways } = readOptions(process.argv.slice(2));
  if (isHelp) {
    console.log(USAGE);
    return 0;
  }
  const wanted = PROGRAMS.filter(({ name }) => gateways.includes(name));
  const missing = wanted.filter(({ binary }) => binary === null);
  const isWanted = ({ name, binary }: Installable): boolean => binary !== null && gateways.includes(name);
  const verdicts: Judged['verdict'][] = [];
  for (const kind of KINDS.filter(isWanted)) verdicts.push(...(await runCases(kind)));
  for (const kind of FORWARD_KINDS.filter(isWanted)) verdicts.push(...(await runForwardCases(kind)));
  verdicts.push(...(await runClusterCases(wanted.filter(({ binary }) => binary !== null).map(({ name }) => name))));
  for (const { name, install } of missing) console.log(`NOT RUN: ${name} is not installed. To install it: ${install}`);
  const count = (verdict: Judged['verdict']): number => verdicts.filter((each) => each === verdict).length;
  const notRun = missing.length === 0 ? '' : `, ${missing.length} of ${wanted.length} programs not installed`;
  console.log(`\n${count('ok')} passed, ${count('FAIL')} failed${notRun}`);
  return count('FAIL') === 0 && count('ok') > 0 ? 0 : 1;
}

/** Runs all cases behind one gateway. */
async function runCases(kind: GatewayKind): Promise<Judged['verdict'][]> {
  await using own = started.use(new AsyncDisposableStack());
  const node = own.use(await Node.start());
  const newFolder = folders(own);
  const gateway = own.use(await kind.start({ nodePort: node.server.port, folder: newFolder() }));
  console.log(`\nKeystile behind ${versionOf(kind)}`);
  return await judgeAll(CASES, { kind, gateway, node, newFolder });
}

/** Runs all cases of forward authentication with one gateway. */
async function runForwardCases(kind: ForwardKind): Promise<Judged['verdict'][]> {
  await using own = started.use(new AsyncDisposableStack());
  const node = own.use(await Node.start());
  const app = own.use(new App());
  const newFolder = folders(own);
  const gateway = own.use(await kind.start({ nodePort: node.server.port, appPort: app.port, folder: newFolder() }));
  console.log(`\nForward authentication by ${versionOf(kind)}`);
  return await judgeAll(FORWARD_CASES, { kind, gateway, node, app, newFolder });
}

/** Runs the cases of several nodes for which a program is there. */
async function runClusterCases(installed: readonly string[]): Promise<Judged['verdict'][]> {
  await using own = started.use(new AsyncDisposableStack());
  const cases = CLUSTER_CASES.filter(({ needs }) => needs.some((name) => installed.includes(name)));
  if (cases.length > 0) console.log('\nTwo nodes on one PostgreSQL');
  const kinds = KINDS.filter(({ name }) => installed.includes(name));
  return await judgeAll(cases, { kind: { name: 'cluster' }, kinds, newFolder: folders(own) });
}

/** Names of folders that do not exist yet. */
function folders(own: AsyncDisposableStack): () => string {
  const folder = own.use(new TempFolder());
  let count = 0;
  return () => join(folder.path, String(count++));
}

/** A case of any kind. */
interface Judgeable<C> {
  readonly name: string;
  readonly run: (context: C) => Promise<string>;
}

/** Prints a line after each case. */
async function judgeAll<C extends { readonly kind: { readonly name: string } }>(
  cases: readonly Judgeable<C>[],
  context: C,
): Promise<Judged['verdict'][]> {
  const width = Math.max(...cases.map(({ name }) => name.length));
  const verdicts: Judged['verdict'][] = [];
  for (const each of cases) {
    const { verdict, text } = await judge(each, context);
    verdicts.push(verdict);
    console.log(`  ${verdict.padEnd(4)}  ${context.kind.name.padEnd(7)}  ${each.name.padEnd(width)}  ${text}`);
  }
  return verdicts;
}

interface Judged {
  readonly verdict: 'ok' | 'FAIL';
  readonly text: string;
}

async function judge<C>({ run }: Judgeable<C>, context: C): Promise<Judged> {
  try {
    return { verdict: 'ok', text: await run(context) };
  } catch (error) {
    const text = (error instanceof BrokenPromise ? error.message : String(error)).replaceAll(/\s+/g, ' ');
    return { verdict: 'FAIL', text };
  }
}

type Installed = Pick<ForwardKind, 'name' | 'binary'>;

interface Installable {
  readonly name: string;
  /** Null: it is not installed. */
  readonly binary: string | null;
  readonly install: string;
}

function versionOf({ binary, name }: Installed): string {
  const { stdout, stderr } = Bun.spawnSync([binary ?? name, name === 'caddy' ? 'version' : '-v'], {
    env: { ...process.env },
  });
  const [first = ''] = `${stdout.toString()}${stderr.toString()}`.trim().split('\n');
  return name === 'caddy' ? `Caddy ${first}` : first;
}

async function stop(code: number): Promise<never> {
  await started.disposeAsync();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(INTERRUPTED));

try {
  await stop(await main());
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  await stop(1);
}
