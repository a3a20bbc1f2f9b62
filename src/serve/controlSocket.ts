import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { isPrivate } from '../storage/sqlite/file/isPrivate.ts';
import type { Engine } from '../engine/engine.ts';
import { CannotStart } from './cannotStart.ts';
import { type RootKeyCommand, runRootKeyCommand } from './rootKeyCommands.ts';

/** The longest socket path that every system accepts (macOS: 104 bytes with the final NUL). */
const MAX_SOCKET_PATH = 103;

const SOCKET = 'control.sock';
/** Folders in the temporary folder begin like this. */
const PRIVATE_FOLDER = 'keystile-control-';

/** Where the process that owns a data folder serves the command line. */
export interface ControlPlace {
  readonly path: string;
  /** Removes the folder that was made for it, if one was. */
  removeFolder(this: void): void;
}

/**
 * The socket is in the data folder. Where its path would be too long, it is in a new folder for this user alone, with a name that nobody
 * else can know before: in a temporary folder that all users share, somebody else could be at a name that can be foretold.
 */
export function placeControl(dataFolder: string): ControlPlace {
  const path = join(resolve(dataFolder), SOCKET);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path, removeFolder() {} };
  const folder = makePrivate();
  return { path: join(folder, SOCKET), removeFolder: () => rmSync(folder, { recursive: true, force: true }) };
}

function makePrivate(): string {
  try {
    return mkdtempSync(join(tmpdir(), PRIVATE_FOLDER));
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw new CannotStart(
      `The path of the data folder is too long for the control socket, and no folder for it can be made in ${tmpdir()} (${code}). Set TMPDIR to another folder, or KEYSTILE_DATA to a shorter path.`,
    );
  }
}

/** Removes the folder that a killed process has left, by the path of its socket. Folders of others stay. */
export function removeFormerControl(path: string | null): void {
  const folder = path === null ? '' : dirname(path);
  if (!folder.startsWith(join(tmpdir(), PRIVATE_FOLDER)) || dirname(folder) !== tmpdir()) return;
  if (isPrivate(folder, process.geteuid?.() ?? -1)) rmSync(folder, { recursive: true, force: true });
}

/** Only users who can read the data folder can connect: the socket has mode 0600, and its folder has mode 0700. */
export function listenControl(engine: Engine, { path, removeFolder }: ControlPlace): { stop(): Promise<void> } {
  rmSync(path, { force: true });
  const umask = process.umask(0o177);
  const server = Bun.serve({
    unix: path,
    development: false,
    async fetch(request) {
      try {
        return Response.json(await runRootKeyCommand(engine, (await request.json()) as RootKeyCommand));
      } catch (error) {
        return Response.json({ error: error instanceof Error ? error.message : String(error) }, { status: 400 });
      }
    },
  });
  process.umask(umask);
  chmodSync(path, 0o600);
  return {
    async stop() {
      await server.stop(true);
      rmSync(path, { force: true });
      removeFolder();
    },
  };
}
