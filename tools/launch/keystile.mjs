import { exitWithComplaint } from './complaint.mjs';
import { ensureInstalled } from './install.mjs';
import { fromProjectRoot } from './project.mjs';
import { exitLikeChild, runBun } from './run.mjs';

/** @param {string[]} keystileArguments */
export async function runKeystile(keystileArguments) {
  try {
    await ensureInstalled({ dev: false });
    exitLikeChild(await runBun([fromProjectRoot('src/main.ts'), ...keystileArguments]));
  } catch (error) {
    exitWithComplaint(error);
  }
}
