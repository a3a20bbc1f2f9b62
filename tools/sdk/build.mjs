import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Complaint } from '../launch/complaint.mjs';
import { fromProjectRoot } from '../launch/project.mjs';
import { runTool } from '../launch/test/checks.mjs';

const BUILT = fromProjectRoot('sdk/build');
const DIST = fromProjectRoot('sdk/dist');
/** The fake for tests is made from src/core of the service. The package has those files beside its own. */
const CORE = /(['"])(?:\.\.\/)+src\/core\//g;

/** Writes sdk/dist, which the package contains: JavaScript and types, file by file. */
export async function buildSdk() {
  for (const folder of [BUILT, DIST]) rmSync(folder, { recursive: true, force: true });
  const { code } = await runTool('typescript', '-p', fromProjectRoot('sdk/tsconfig.build.json'));
  if (code !== 0) throw new Complaint('The SDK could not be built.', 1);
  cpSync(join(BUILT, 'sdk/src'), DIST, { recursive: true });
  cpSync(join(BUILT, 'src/core'), join(DIST, 'core'), { recursive: true });
  for (const name of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
    const path = join(DIST, name);
    if (/\.(js|d\.ts)$/.test(name)) writeFileSync(path, asPublished(readFileSync(path, 'utf8')));
  }
  rmSync(BUILT, { recursive: true, force: true });
}

/**
 * Imports as Node resolves them. The compiler leaves those of types as they are.
 *
 * @param {string} text
 */
function asPublished(text) {
  return text
    .replaceAll(CORE, '$1../core/')
    .replaceAll(/(from\s+|import\()(['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1$2.js$3');
}
