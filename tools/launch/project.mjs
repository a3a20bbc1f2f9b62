import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** @param {string} path */
export function fromProjectRoot(path) {
  return join(projectRoot, path);
}

/** Whether this is a checkout. An installed package has no package-lock.json, because npm does not publish it. */
export function isCheckout() {
  return existsSync(fromProjectRoot('package-lock.json'));
}
