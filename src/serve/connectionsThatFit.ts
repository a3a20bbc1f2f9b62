import type { Config } from '../config/variables.ts';
import type { ConnectionBounds } from '../http/front/connectionLimit.ts';
import type { Log } from '../log.ts';
import { CannotStart } from './cannotStart.ts';
import { fitConnections, limitFor, readOpenFileLimit, reservedFiles, smallestLimit } from './openFiles.ts';

/** How many client connections fit under the process's limit of open files. Refuses to start when too few do. */
export function connectionsThatFit(config: Config, log: Log): ConnectionBounds {
  const { maxConnections: connections, databasePool } = config;
  const limit = readOpenFileLimit();
  const reserved = reservedFiles(databasePool);
  const size = fitConnections({ limit, reserved, connections });
  if (size === null) {
    const least = smallestLimit({ reserved, connections });
    throw new CannotStart(
      `Keystile needs a limit of at least ${least} open files, but this process has a limit of ${limit}. Raise it with "ulimit -n ${least}", or with LimitNOFILE=${least} under systemd.`,
    );
  }
  if (size.connections < connections) {
    log.warn(
      'the limit of open files is too low for KEYSTILE_MAX_CONNECTIONS: fewer connections are accepted; raise the limit (ulimit -n, or LimitNOFILE under systemd) or lower the setting',
      { limit, needed: limitFor(connections, reserved), maxConnections: connections, accepted: size.connections },
    );
  }
  if (config.httpServer === 'runtime') {
    log.warn(
      'KEYSTILE_HTTP_SERVER=runtime does not limit idle connections: they can use up all open files; use it only to diagnose a problem, or behind a gateway that limits connections',
      { limit },
    );
  }
  return size;
}
