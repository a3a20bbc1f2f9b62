import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openApi } from '../../src/http/docs/openApi.ts';
import { CHECKS } from './checks.ts';
import { type Check, Failure } from './steps.ts';

/**
 * Lints the OpenAPI document, generates a client from it in several languages, and compiles each. All tools have a fixed version and are
 * installed into a temporary folder.
 */

const USAGE = `npm run check:openapi -- [${CHECKS.map(({ name }) => name).join('|')}]...
  Lints the OpenAPI document and compiles the clients that generators make from it. Needs the network. Default: all of them.`;

/** Returns the exit code. */
async function main(folder: string): Promise<number> {
  const asked = process.argv.slice(2);
  const unknown = asked.find((name) => !CHECKS.some((check) => check.name === name));
  if (unknown !== undefined) {
    console.error(unknown === '--help' ? USAGE : `Unknown check ${JSON.stringify(unknown)}.\n${USAGE}`);
    return unknown === '--help' ? 0 : 1;
  }
  const document = join(folder, 'openapi.json');
  writeFileSync(document, JSON.stringify(openApi(null), null, 2));
  const outcomes: Outcome[] = [];
  for (const check of CHECKS.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
    outcomes.push(await outcomeOf(check, document, join(folder, check.name)));
  }
  const count = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
  console.log(`\n${count('ok')} passed, ${count('FAIL')} failed, ${count('NOT RUN')} not run`);
  return count('FAIL') === 0 && count('ok') > 0 ? 0 : 1;
}

type Outcome = 'ok' | 'FAIL' | 'NOT RUN';

async function outcomeOf(check: Check, document: string, folder: string): Promise<Outcome> {
  const { name, needs } = check;
  const missing = needs.filter(({ command }) => Bun.which(command) === null);
  for (const { command, install } of missing) {
    console.log(`NOT RUN  ${name}: ${command} is not installed. To install it: ${install}`);
  }
  if (missing.length > 0) return 'NOT RUN';
  mkdirSync(folder);
  try {
    console.log(`ok       ${name}: ${await check.run(document, folder)}`);
    return 'ok';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.log(`FAIL     ${name}: ${error.message}`);
    return 'FAIL';
  }
}

const folder = mkdtempSync(join(tmpdir(), 'keystile-openapi-'));
try {
  process.exitCode = await main(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
