import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { MIN_ROOT_KEY_LENGTH } from '../core/bounds.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { RootKeyAdmin } from '../engine/admin/rootKeys/rootKeyAdmin.ts';
import { flushFolder, unwritable, writeDurably } from '../storage/sqlite/file/dataFolder.ts';
import { CannotStart } from './cannotStart.ts';

const FILE = 'root-key';

/** Where the first root key went: shown on a terminal, or saved in a file because standard output may be kept in a log. */
export type FirstRootKey = { readonly shown: string } | { readonly path: string };

export interface RootKeyDestination {
  /** Standard output is a terminal: a person sees what is printed, and nothing keeps it. */
  readonly isShown: boolean;
  /** The data folder. Null on PostgreSQL, which has none. */
  readonly folder: string | null;
}

/** Refuses a start that needs a first root key and can neither show nor save it. Called before anything listens. */
export async function requireDestination(
  rootKeys: RootKeyAdmin,
  { isShown, folder }: RootKeyDestination,
): Promise<void> {
  if (isShown || folder !== null || (await rootKeys.list()).length > 0) return;
  throw noDestination();
}

function noDestination(): CannotStart {
  return new CannotStart(
    'The database has no root key yet. Standard output is not a terminal, so a new root key would be written to a log. ' +
      `Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE to the first root key (at least ${MIN_ROOT_KEY_LENGTH} characters), or create one with: keystile root-key create`,
  );
}

/** Creates the first root key. Returns null when the database already has a root key. */
export async function makeFirstRootKey(
  rootKeys: RootKeyAdmin,
  { isShown, folder }: RootKeyDestination,
): Promise<FirstRootKey | null> {
  if ((await rootKeys.list()).length > 0) return null;
  const secret = rootKeys.newSecret();
  if (isShown) {
    await rootKeys.adoptFirst(secret);
    return { shown: secret };
  }
  if (folder === null) throw noDestination();
  const path = join(resolve(folder), FILE);
  // The file is written first: after a crash between the two steps, the next start uses the root key in the file.
  await rootKeys.adoptFirst(saveSecret(path, secret));
  return { path };
}

/** Returns the secret in the file. An existing file is never overwritten: only this process writes in a folder that it owns. */
function saveSecret(path: string, secret: string): string {
  if (!existsSync(path)) {
    try {
      writeDurably(path, `${secret}\n`);
    } catch (error) {
      throw unwritable(dirname(path), error);
    }
    flushFolder(dirname(path));
    return secret;
  }
  const kept = readFileSync(path, 'utf8').trim();
  if (isSecretShaped(kept) && kept.length >= MIN_ROOT_KEY_LENGTH) return kept;
  throw new CannotStart(
    `The first root key cannot be saved in ${path}: the file exists and holds something else. Move it away and start again.`,
  );
}
