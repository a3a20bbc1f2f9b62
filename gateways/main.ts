import { join } from 'node:path';

import { TempFolder } from '../test/e2e/process.ts';
import { Broken, type Case, type World } from './case.ts';
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

/** Everything that was started, in the order in which it can be stopped. */
const parts = new AsyncDisposableStack();

/** Answers the exit code. */
async function main(): Promise<number> {
  const { isHelp, servers, gateways } = readOptions(process.argv.slice(2));
  if (isHelp) {
    console.log(USAGE);
    return 0;
  }
  const wanted = KINDS.filter(({ name }) => gateways.includes(name));
  const missing = wanted.filter(({ binary }) => binary === null);
  let broken = 0;
  let kept = 0;
  for (const server of servers) {
    for (const kind of wanted.filter(({ binary }) => binary !== null)) {
      const outcome = await runCases(kind, server);
      broken += outcome.broken;
      kept += outcome.kept;
    }
  }
  for (const { name, install } of missing) console.log(`NOT RUN: ${name} is not installed (${install}).`);
  console.log(`\n${kept} passed, ${broken} failed, ${missing.length} of ${wanted.length} gateways missing`);
  return broken === 0 && kept > 0 ? 0 : 1;
}

/** All cases behind one gateway, each a line as soon as it has ended. */
async function runCases(kind: GatewayKind, server: ServerName): Promise<{ kept: number; broken: number }> {
  const folder = parts.use(new TempFolder());
  const node = parts.use(await Node.start({ KEYSTILE_HTTP_SERVER: server }));
  let folders = 0;
  const newFolder = (): string => join(folder.path, String(folders++));
  const gateway = parts.use(await kind.start({ nodePort: node.server.port, folder: newFolder() }));
  console.log(`\n${versionOf(kind)}, KEYSTILE_HTTP_SERVER=${server}`);
  const width = Math.max(...CASES.map(({ name }) => name.length));
  let broken = 0;
  for (const { name, run } of CASES) {
    const failure = await failureOf(run, { kind, gateway, node, newFolder });
    if (failure.isBroken) broken++;
    console.log(
      `  ${failure.isBroken ? 'FAIL' : 'ok  '}  ${kind.name.padEnd(7)}  ${name.padEnd(width)}  ${failure.text}`,
    );
  }
  return { kept: CASES.length - broken, broken };
}

async function failureOf(run: Case['run'], world: World): Promise<{ isBroken: boolean; text: string }> {
  try {
    return { isBroken: false, text: await run(world) };
  } catch (error) {
    return { isBroken: true, text: error instanceof Broken ? error.message : String(error) };
  }
}

function versionOf({ binary, name }: GatewayKind): string {
  const { stdout, stderr } = Bun.spawnSync([binary ?? name, '-v'], { env: { ...process.env } });
  return `${stdout.toString()}${stderr.toString()}`.trim().split('\n')[0] ?? name;
}

async function stop(code: number): Promise<never> {
  await parts.disposeAsync();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(INTERRUPTED));

try {
  await stop(await main());
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  await stop(1);
}
