import { symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { Complaint } from './complaint.mjs';
import { fromProjectRoot } from './project.mjs';
import { runToEnd } from './run.mjs';
import { findBun } from './runtime.mjs';

/** What is run by its path: the program, and the worker thread that it starts. */
const ENTRIES = ['src/main.ts', 'src/storage/sqlite/thread/thread.ts'];

/** A few files, of which a command loads what it needs. Made in a third of a second. */
const SPLIT = ['--splitting'];
/** One file for each entry, with its bytecode: a server starts with a tenth less processor time. Made in two seconds. */
const COMPILED = ['--format=cjs', '--bytecode'];

/**
 * Joins the modules of the program, and the packages that it needs, to a few files. These take a third of the processor
 * time to load. What the program reads by its path (src/programFiles.ts) is linked beside them.
 *
 * @param {string} folder an empty folder
 * @param {{ isCompiled: boolean }} options whether to compile it, which pays when it is started many times
 * @returns {Promise<string>} the path of the program
 */
export async function makeBundle(folder, { isCompiled }) {
  const form = isCompiled ? COMPILED : SPLIT;
  const options = ['--target=bun', ...form, '--minify-whitespace', '--minify-syntax', '--sourcemap=linked'];
  const paths = [`--root=${fromProjectRoot('src')}`, `--outdir=${join(folder, 'build')}`];
  const command = ['build', ...ENTRIES.map(fromProjectRoot), ...options, ...paths];
  const { code, output, interrupted } = await runToEnd(findBun(), command, { stdio: ['ignore', 'pipe', 'pipe'] });
  if (interrupted) throw new Complaint('Stopped.', 130);
  if (code !== 0) throw new Complaint(`The program could not be bundled:\n${output}`);
  for (const name of ['clients', 'docs', 'src', 'web', 'sdk', 'node_modules'])
    symlinkSync(fromProjectRoot(name), join(folder, name), 'junction');
  return join(folder, 'build', 'main.js');
}
