import { join } from 'node:path';

import { TempFolder } from '../../test/process/process.ts';
import { BrokenPromise, type Case, type CaseContext } from './case.ts';
import { CONNECTION_CASES } from './cases/connections.ts';
import { KEY_CASES } from './cases/keys.ts';
import { MESSAGE_CASES } from './cases/messages.ts';
import { smuggling } from './cases/smuggling.ts';
import type { GatewayKind } from './gateway.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { Node } from './node.ts';
import { readOptions, type ServerName, USAGE, UsageError } from './options.ts';

const KINDS: readonly GatewayKind[] = [nginx, haproxy];
const CASES: readonly Case[] = [...CONNECTION_CASES, ...MESSAGE_CASES, smuggling, ...KEY_CASES];
const INTERRUPTED = 130;

/** All started processes. They are stopped in reverse order. */
const started = new AsyncDisposableStack();

/** Returns the exit code. */
async function main(): Promise<number> {
  const { isHelp, servers, gateways } = readOptions(process.argv.slice(2));
  if (isHelp) {
    console.log(USAGE);
    return 0;
  }
  const wanted = KINDS.filter(({ name }) => gateways.includes(name));
  const missing = wanted.filter(({ binary }) => binary === null);
  const verdicts: Judged['verdict'][] = [];
  for (const server of servers) {
    for (const kind of wanted.filter(({ binary }) => binary !== null)) verdicts.push(...(await runCases(kind, server)));
  }
  for (const { name, install } of missing) console.log(`NOT RUN: ${name} is not installed. To install it: ${install}`);
  const count = (verdict: Judged['verdict']): number => verdicts.filter((each) => each === verdict).length;
  const notRun = missing.length === 0 ? '' : `, ${missing.length} of ${wanted.length} gateways not installed`;
  console.log(
    `\n${count('ok')} passed, ${count('FAIL')} failed, ${count('known')} failed because of known limits of Bun's server${notRun}`,
  );
  return count('FAIL') === 0 && count('ok') > 0 ? 0 : 1;
}

/** Runs all cases behind one gateway. Prints a line after each case. */
async function runCases(kind: GatewayKind, server: ServerName): Promise<Judged['verdict'][]> {
  await using own = started.use(new AsyncDisposableStack());
  const folder = own.use(new TempFolder());
  const node = own.use(await Node.start({ KEYSTILE_HTTP_SERVER: server }));
  let folders = 0;
  const newFolder = (): string => join(folder.path, String(folders++));
  const gateway = own.use(await kind.start({ nodePort: node.server.port, folder: newFolder() }));
  console.log(`\nKeystile with KEYSTILE_HTTP_SERVER=${server} behind ${versionOf(kind)}`);
  const width = Math.max(...CASES.map(({ name }) => name.length));
  const verdicts: Judged['verdict'][] = [];
  for (const each of CASES) {
    const { verdict, text } = await judge(each, server, { kind, gateway, node, newFolder });
    verdicts.push(verdict);
    console.log(`  ${verdict.padEnd(5)}  ${kind.name.padEnd(7)}  ${each.name.padEnd(width)}  ${text}`);
  }
  return verdicts;
}

interface Judged {
  readonly verdict: 'ok' | 'FAIL' | 'known';
  readonly text: string;
}

async function judge({ run, limitOfRuntime }: Case, server: ServerName, context: CaseContext): Promise<Judged> {
  try {
    return { verdict: 'ok', text: await run(context) };
  } catch (error) {
    const text = (error instanceof BrokenPromise ? error.message : String(error)).replaceAll(/\s+/g, ' ');
    const isKnown = server === 'runtime' && limitOfRuntime !== undefined;
    return isKnown ? { verdict: 'known', text: `${limitOfRuntime}: ${text}` } : { verdict: 'FAIL', text };
  }
}

function versionOf({ binary, name }: GatewayKind): string {
  const { stdout, stderr } = Bun.spawnSync([binary ?? name, '-v'], { env: { ...process.env } });
  return `${stdout.toString()}${stderr.toString()}`.trim().split('\n')[0] ?? name;
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
