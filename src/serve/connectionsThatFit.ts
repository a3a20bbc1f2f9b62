import type { Config } from '../config/variables.ts';
import type { ConnectionBounds } from '../http/front/connectionLimit.ts';
import type { Log } from '../log.ts';
import { CannotStart } from './cannotStart.ts';
import { fitConnections, limitFor, readOpenFileLimit, reservedFiles, smallestLimit } from './openFiles.ts';

export interface FittingConnections extends ConnectionBounds {
  /** What the banner says about the limit of open files; null = nothing, because it is high enough, or the log has a warning. */
  readonly note: string | null;
}

/**
 * How many client connections fit under the process's limit of open files. Refuses to start when too few do. Only whoever has asked for
 * more is warned: most machines allow fewer files than the default would need, and few need so many connections.
 */
export function connectionsThatFit(config: Config, log: Log): FittingConnections {
  const { maxConnections: connections, databasePool, origins } = config;
  const limit = readOpenFileLimit();
  const reserved = reservedFiles(databasePool);
  const size = fitConnections({ limit, reserved, connections });
  if (size === null) {
    const least = smallestLimit({ reserved, connections });
    throw new CannotStart(
      `Keystile needs a limit of at least ${least} open files, but this process has a limit of ${limit}. Raise it with "ulimit -n ${least}", or with LimitNOFILE=${least} under systemd.`,
    );
  }
  const isShort = size.connections < connections;
  const isAsked = origins.maxConnections !== 'default';
  if (isShort && isAsked) {
    log.warn(
      'the limit of open files is too low for KEYSTILE_MAX_CONNECTIONS: fewer connections are accepted; raise the limit (ulimit -n, or LimitNOFILE under systemd) or lower the setting',
      { limit, needed: limitFor(connections, reserved), maxConnections: connections, accepted: size.connections },
    );
  }
  const fewer = `At most ${size.connections} connections at a time: this process may have ${limit} files open.`;
  return { ...size, note: isShort && !isAsked ? fewer : null };
}
