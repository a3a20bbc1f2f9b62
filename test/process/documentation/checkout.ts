import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { PROJECT, type TempFolder } from '../process.ts';

const ALSO_IN_A_CHECKOUT = ['package.json', 'package-lock.json', '.npmrc'];

/** A second checkout with the packages of this one: what package.json publishes, and what a clone has beside it. */
export function copyCheckout(folder: TempFolder): string {
  const copy = folder.join('checkout');
  const { files } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of [...files, ...ALSO_IN_A_CHECKOUT]) {
    if (existsSync(join(PROJECT, name))) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}
