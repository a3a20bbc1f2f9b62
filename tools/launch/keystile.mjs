import { exitWithComplaint } from './complaint.mjs';
import { fromProjectRoot, isCheckout } from './project.mjs';
import { exitLikeChild, runBun } from './run.mjs';

/** @param {string[]} keystileArguments */
export async function runKeystile(keystileArguments) {
  try {
    // npm has installed what a package needs. The code that looks for it takes a tenth of the time of a short command.
    if (isCheckout()) await (await import('./install.mjs')).ensureInstalled({ dev: false });
    exitLikeChild(await runBun([fromProjectRoot('src/main.ts'), ...keystileArguments]));
  } catch (error) {
    exitWithComplaint(error);
  }
}
