import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { exitWithComplaint } from './complaint.mjs';
import { ensureInstalled } from './install.mjs';
import { fromProjectRoot } from './project.mjs';
import { exitLikeChild, runBun } from './run.mjs';
import { runChecks, runTool } from './test/checks.mjs';
import { longFilesOf } from './test/selection.mjs';
import { runTests } from './test/tests.mjs';
import { testClients } from '../clients/main.mjs';

/** @param {string[]} benchArguments */
export function bench(benchArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/bench/main.ts'), ...benchArguments]));
}

/**
 * Fills a data folder with which a move is measured. That needs no package for developers.
 *
 * @param {string[]} fillArguments
 */
export function fillMove(fillArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/bench/fillMove.ts'), ...fillArguments]), { dev: false });
}

/** @param {string[]} regionsArguments */
export function regions(regionsArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/regions/main.ts'), ...regionsArguments]));
}

export function road() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/road/main.ts')]));
}

/** @param {string[]} simArguments */
export function sim(simArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/sim/main.ts'), ...simArguments]));
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

/**
 * Makes the program as one executable file. That needs no package for developers.
 *
 * @param {string[]} binaryArguments
 */
export function binary(binaryArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/binary/main.ts'), ...binaryArguments]), { dev: false });
}

/** Runs the tests of real processes with the executable file in place of the sources. */
export function testBinary() {
  return afterInstalling(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'keystile-binary-'));
    try {
      const out = join(folder, 'keystile');
      const made = await runBun([fromProjectRoot('tools/binary/main.ts'), '--out', out]);
      if (made.code !== 0) return made;
      process.env.KEYSTILE_TEST_BINARY = out;
      return await runTests(['process', ...longFilesOf('process'), 'browser']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** Checks the files of deploy/ with the linters of others. */
export function deploy() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/deploy/main.ts')]));
}

/**
 * Makes the files of a release, commits and tags it.
 *
 * @param {string[]} releaseArguments
 */
export function release(releaseArguments) {
  return afterInstalling(() => runBun([fromProjectRoot('tools/release/main.ts'), ...releaseArguments]));
}

/** Builds what the package has besides its sources. That needs no package for developers. */
export function pack() {
  return afterInstalling(() => runBun([fromProjectRoot('tools/scripts/packPages.ts')]), { dev: false });
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
async function afterInstalling(work, { dev = true, sdk = false } = {}) {
  try {
    await ensureInstalled({ dev, sdk });
    exitLikeChild(await work());
  } catch (error) {
    exitWithComplaint(error);
  }
}
