import { exitWithComplaint } from './complaint.mjs';
import { ensureInstalled } from './install.mjs';
import { fromProjectRoot } from './project.mjs';
import { exitLikeChild, runBun } from './run.mjs';
import { runChecks, runTool } from './test/checks.mjs';
import { runTests } from './test/tests.mjs';
import { testClients } from '../clients/main.mjs';

/** @param {string[]} benchArguments */
export function bench(benchArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/bench/main.ts'), ...benchArguments]));
}

/** @param {string[]} regionsArguments */
export function regions(regionsArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/regions/main.ts'), ...regionsArguments]));
}

/** @param {string[]} fuzzArguments */
export function fuzz(fuzzArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/fuzz/main.ts'), ...fuzzArguments]));
}

/** @param {string[]} gatewaysArguments */
export function gateways(gatewaysArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/gateways/main.ts'), ...gatewaysArguments]));
}

/**
 * Lints the OpenAPI document and compiles the clients that generators make from it.
 *
 * @param {string[]} openapiArguments
 */
export function openapi(openapiArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/openapi/main.ts'), ...openapiArguments]));
}

/** Makes the pictures of docs/dashboard.md. */
export function screenshots() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/screenshots/main.ts')]));
}

/** Sends the slowest input of every kind and measures each. */
export function bounds() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/bounds/main.ts')]));
}

/** Checks that packages are pinned, and asks the registry what is known against them. */
export function audit() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/audit/main.ts')]));
}

/**
 * Writes the generated parts of the documentation again. `viewer VERSION` also takes another version of the viewer of /docs.
 *
 * @param {string[]} docsArguments
 */
export function docs(docsArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/scripts/docs.ts'), ...docsArguments]));
}

/** Builds what the package has besides its sources. */
export function pack() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/scripts/packDashboard.ts')]));
}

export function check() {
  return afterInstalling(async () => {
    const { interrupted, failures } = await runChecks();
    return { code: interrupted ? 130 : Number(failures.length > 0) };
  });
}

/** @param {string[]} paths */
export function format(paths) {
  return afterInstalling(() => runTool('oxfmt', ...paths));
}

/** @param {string[]} selection */
export function test(selection) {
  return afterInstalling(() => runTests(selection));
}

/** Tests the SDK with the frameworks that it protects, and the clients in other languages. */
export function clients() {
  return afterInstalling(() => testClients(), { sdk: true });
}

/** @param {() => Promise<{ code: number }>} work */
async function afterInstalling(work, { sdk = false } = {}) {
  try {
    await ensureInstalled({ dev: true, sdk });
    exitLikeChild(await work());
  } catch (error) {
    exitWithComplaint(error);
  }
}
