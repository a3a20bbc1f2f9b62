import { chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import type { Engine } from '../engine/engine.ts';
import { isMoveCommand, type Movable, type MoveCommand, runMoveCommand } from './moveCommands.ts';
import { type RootKeyCommand, runRootKeyCommand } from './rootKeyCommands.ts';

/** The longest socket path that every system accepts (macOS: 104 bytes with the final NUL). */
const MAX_SOCKET_PATH = 103;

/**
 * The socket on which the process that owns a data folder serves the command line. A path that is too long moves to the temporary folder.
 */
export function controlPath(dataFolder: string): string {
  const path = join(resolve(dataFolder), 'control.sock');
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path;
  return join(tmpdir(), `keystile-${Bun.hash(path).toString(36)}.sock`);
}

/** Only users who can read the data folder can connect: the socket has mode 0600, and the folder has mode 0700. */
export function listenControl(engine: Engine, movable: Movable, path: string): { stop(): Promise<void> } {
  rmSync(path, { force: true });
  const umask = process.umask(0o177);
  const server = Bun.serve({
    unix: path,
    development: false,
    // An export with --move keeps its connection open for as long as it takes.
    ...({ idleTimeout: 0 } as object),
    async fetch(request) {
      try {
        const command = (await request.json()) as RootKeyCommand | MoveCommand;
        if (isMoveCommand(command)) return await runMoveCommand(movable, command, request.signal);
        return Response.json(await runRootKeyCommand(engine, command));
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
    },
  };
}
