import { readFileSync } from 'node:fs';

import type { ConnectionBounds } from '../http/front/connectionLimit.ts';

/**
 * What the process opens beside the connections of clients: the database, its threads, the log, connections to the metrics and
 * to the control socket. Measured with all threads running: 40.
 */
const OWN_FILES = 128;
/** Connections to PostgreSQL beside the pool. */
const OTHER_SESSIONS = 8;
/** The most connections that are answered "too many" at one time. */
const MAX_REFUSALS = 1000;
/** One in so many of the descriptors for clients is kept for such answers. */
const REFUSALS_SHARE = 20;
/** With fewer connections than this the service is of no use. */
const MIN_CONNECTIONS = 16;

/** How many descriptors are kept for the process itself. */
export function reservedFiles(databasePool: number): number {
  return OWN_FILES + OTHER_SESSIONS + databasePool;
}

export interface RoomWanted {
  /** Files that the process may have open; null = not known, or no limit. */
  readonly limit: number | null;
  readonly reserved: number;
  /** KEYSTILE_MAX_CONNECTIONS. */
  readonly connections: number;
}

/** How many connections fit under the limit; null when too few do. */
export function roomFor({ limit, reserved, connections }: RoomWanted): ConnectionBounds | null {
  if (limit === null) return roomWithoutLimit(connections);
  const firstReserved = limit - reserved;
  const refusals = Math.min(MAX_REFUSALS, Math.floor(firstReserved / REFUSALS_SHARE));
  const fitting = Math.min(connections, firstReserved - refusals);
  if (fitting < Math.min(connections, MIN_CONNECTIONS)) return null;
  return { connections: fitting, refusals, firstReserved };
}

export function roomWithoutLimit(connections: number): ConnectionBounds {
  return { connections, refusals: MAX_REFUSALS, firstReserved: Infinity };
}

/** The smallest limit under which this many connections fit. */
export function limitFor(connections: number, reserved: number): number {
  const tight = Math.floor((REFUSALS_SHARE * (connections - 1)) / (REFUSALS_SHARE - 1)) + 1;
  return reserved + Math.min(tight, connections + MAX_REFUSALS);
}

/** The smallest limit that the service starts with. */
export function smallestLimit({ reserved, connections }: Omit<RoomWanted, 'limit'>): number {
  return limitFor(Math.min(connections, MIN_CONNECTIONS), reserved);
}

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** Files that this process may have open. The runtime has raised its soft limit to the hard one by itself. Null: not known, or no limit. */
export function readOpenFileLimit(): number | null {
  return process.platform === 'linux' ? parseLimits(readLimits()) : reportedLimit(process.report?.getReport());
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}

/** The soft limit in the text of /proc/self/limits. */
export function parseLimits(text: string): number | null {
  return toLimit(/^Max open files +(\d+)/m.exec(text)?.[1]);
}

export function reportedLimit(report: Report | undefined): number | null {
  return toLimit(report?.userLimits?.open_files?.soft);
}

/** "unlimited" is told as text. */
function toLimit(soft: unknown): number | null {
  const limit = Number(soft);
  return soft !== undefined && Number.isSafeInteger(limit) && limit > 0 ? limit : null;
}
