import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { MIN_ROOT_KEY_LENGTH } from '../core/bounds.ts';
import { isSecretShaped } from '../core/secret.ts';
import { COMMAND_LINE } from '../engine/admin/change/requireRight.ts';
import type { NewRootKey, RootKeyAdmin } from '../engine/admin/rootKeys.ts';
import type { ServiceStatus } from '../engine/admin/status.ts';
import type { Engine } from '../engine/engine.ts';
import type { RootKeyRecord } from '../model/access.ts';
import { CannotStart } from './exit.ts';
import { flushFolder, unwritable, writeDurably } from '../storage/sqlite/file/dataFolder.ts';

const FILE = 'root-key';

/** Where the first root key went: shown on a terminal, or saved in a file because standard output may be kept in a log. */
export type FirstRootKey = { readonly shown: string } | { readonly path: string };

interface RootKeyDestination {
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

/**
 * A command of the command line for the owner of the data folder; most are about root keys. The running server executes it. If no server
 * runs, the command line itself does.
 */
export type RootKeyCommand =
  | { readonly command: 'create'; readonly input: NewRootKey }
  | { readonly command: 'list' }
  | { readonly command: 'rotate'; readonly rootKeyId: string; readonly overlapMs: number }
  | { readonly command: 'revoke'; readonly rootKeyId: string }
  /** What the service finds wrong with itself. */
  | { readonly command: 'status' };

/** A root key without its digest, safe to show. */
export type RootKeyShown = Omit<RootKeyRecord, 'secretDigest'>;

export type RootKeyAnswer =
  | { readonly created: RootKeyShown; readonly secret: string }
  | { readonly rootKeys: readonly RootKeyShown[] }
  | { readonly rotated: string; readonly secret: string }
  | { readonly revoked: string }
  | { readonly status: Pick<ServiceStatus, 'problems' | 'checks'> };

export async function runRootKeyCommand(engine: Engine, command: RootKeyCommand): Promise<RootKeyAnswer> {
  switch (command.command) {
    case 'create': {
      const { rootKey, secret } = await engine.rootKeys.create(command.input, COMMAND_LINE);
      return { created: shown(rootKey), secret };
    }
    case 'list':
      return { rootKeys: (await engine.rootKeys.list(COMMAND_LINE)).map(shown) };
    case 'rotate': {
      const { rootKeyId, overlapMs } = command;
      return { rotated: rootKeyId, secret: await engine.rootKeys.rotate(rootKeyId, overlapMs, COMMAND_LINE) };
    }
    case 'revoke':
      await engine.rootKeys.revoke(command.rootKeyId, COMMAND_LINE);
      return { revoked: command.rootKeyId };
    case 'status': {
      const { problems, checks } = await engine.status.read(COMMAND_LINE);
      return { status: { problems, checks } };
    }
  }
}

function shown({ secretDigest: _digest, ...rest }: RootKeyRecord): RootKeyShown {
  return rest;
}
