import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** @param {string} path */
export function fromProjectRoot(path) {
  return join(projectRoot, path);
}

/** npm never publishes package-lock.json, so its presence tells a checkout from an installed package. */
export function isCheckout() {
  return existsSync(fromProjectRoot('package-lock.json'));
}
