import type { Config } from '../config/variables.ts';
import type { ConnectionBounds } from '../http/front/connectionLimit.ts';
import type { Log } from '../log.ts';
import { CannotStart } from './cannotStart.ts';
import { limitFor, readOpenFileLimit, reservedFiles, roomFor, smallestLimit } from './openFiles.ts';

/** The connections that fit under the limit of open files. */
export function measureRoom(config: Config, log: Log): ConnectionBounds {
  const { maxConnections: connections, databasePool } = config;
  const limit = readOpenFileLimit();
  const reserved = reservedFiles(databasePool);
  const room = roomFor({ limit, reserved, connections });
  if (room === null) {
    const least = smallestLimit({ reserved, connections });
    throw new CannotStart(
      `This process may have ${limit} open files and needs at least ${least}. Raise the limit first: ulimit -n ${least}, or LimitNOFILE=${least} of systemd.`,
    );
  }
  if (room.connections < connections) {
    log.warn(
      'the limit of open files is lower than KEYSTILE_MAX_CONNECTIONS needs: fewer connections are taken; raise the limit (ulimit -n, LimitNOFILE) or lower the setting',
      { limit, needed: limitFor(connections, reserved), maxConnections: connections, taken: room.connections },
    );
  }
  if (config.httpServer === 'runtime') {
    log.warn(
      'KEYSTILE_HTTP_SERVER=runtime does not bound idle connections: they may take all open files; use it for a diagnosis, or behind a gateway that bounds them',
      { limit },
    );
  }
  return room;
}
