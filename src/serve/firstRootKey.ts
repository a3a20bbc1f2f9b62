import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { MIN_ROOT_KEY_LENGTH } from '../core/bounds.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { RootKeyAdmin } from '../engine/admin/rootKeys/rootKeyAdmin.ts';
import { flushFolder, writeDurably } from '../storage/sqlite/file/dataFolder.ts';
import { CannotStart } from './cannotStart.ts';

const FILE = 'root-key';

/** Where a new root key goes: to a terminal, or to a file where what is printed may be kept in a log. */
export type FirstRootKey = { readonly shown: string } | { readonly path: string };

export interface FirstRootKeyPlace {
  /** What is printed is seen by a person and kept nowhere. */
  readonly isShown: boolean;
  /** The data folder; null on PostgreSQL, where there is none. */
  readonly folder: string | null;
}

/** Before anything listens: a start that would have no place for its first root key ends here. */
export async function requirePlace(rootKeys: RootKeyAdmin, { isShown, folder }: FirstRootKeyPlace): Promise<void> {
  if (isShown || folder !== null || (await rootKeys.list()).length > 0) return;
  throw noPlace();
}

function noPlace(): CannotStart {
  return new CannotStart(
    'The database has no root key yet, and standard output is no terminal: a new root key would end up in a log. ' +
      `Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE to the first one (at least ${MIN_ROOT_KEY_LENGTH} characters), or make it with: keystile root-key create`,
  );
}

/** Makes the first root key where there is none at all; null where there is one. */
export async function makeFirstRootKey(
  rootKeys: RootKeyAdmin,
  { isShown, folder }: FirstRootKeyPlace,
): Promise<FirstRootKey | null> {
  if ((await rootKeys.list()).length > 0) return null;
  const secret = rootKeys.newSecret();
  if (isShown) {
    await rootKeys.adoptFirst(secret);
    return { shown: secret };
  }
  if (folder === null) throw noPlace();
  const path = join(resolve(folder), FILE);
  // The file comes first: after a crash in between, the next start takes the root key that it holds.
  await rootKeys.adoptFirst(keepSecret(path, secret));
  return { path };
}

/** Answers what the file holds. One that is there is never overwritten: nobody else writes in a folder that this process owns. */
function keepSecret(path: string, secret: string): string {
  if (!existsSync(path)) {
    writeDurably(path, `${secret}\n`);
    flushFolder(dirname(path));
    return secret;
  }
  const kept = readFileSync(path, 'utf8').trim();
  if (isSecretShaped(kept) && kept.length >= MIN_ROOT_KEY_LENGTH) return kept;
  throw new CannotStart(
    `The first root key is to be saved in ${path}, but something else is there. Move that file away and start again.`,
  );
}
