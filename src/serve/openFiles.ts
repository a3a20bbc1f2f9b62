import { readFileSync } from 'node:fs';
import { dlopen, type FFIFunction } from 'bun:ffi';

import type { ConnectionBounds } from '../http/front/frontLimits.ts';

/**
 * Files that the process opens besides client connections: the database, its threads, the log, and connections to the metrics
 * and the control socket. 40 were measured with all threads running.
 */
const OWN_FILES = 128;
/** Connections to PostgreSQL besides the pool. */
export const OTHER_SESSIONS = 8;
/** The largest number of connections that are refused with an answer at one time. */
const MAX_REFUSALS = 1000;
/** One of this many client descriptors is kept for answering refused connections. */
const REFUSALS_SHARE = 20;
/** The service does not start with fewer connections than this. */
const MIN_CONNECTIONS = 16;

/** The number of descriptors kept for the process itself. */
export function reservedFiles(databasePool: number): number {
  return OWN_FILES + OTHER_SESSIONS + databasePool;
}

interface FileBudget {
  /** How many files the process may have open. Null: unknown, or no limit. */
  readonly limit: number | null;
  readonly reserved: number;
  /** KEYSTILE_MAX_CONNECTIONS. */
  readonly connections: number;
}

/** How many connections fit under the limit of open files. Null when too few fit. */
export function fitConnections({ limit, reserved, connections }: FileBudget): ConnectionBounds | null {
  if (limit === null) return boundsWithoutLimit(connections);
  const firstReserved = limit - reserved;
  const refusals = Math.min(MAX_REFUSALS, Math.floor(firstReserved / REFUSALS_SHARE));
  const fitting = Math.min(connections, firstReserved - refusals);
  if (fitting < Math.min(connections, MIN_CONNECTIONS)) return null;
  return { connections: fitting, refusals, firstReserved };
}

export function boundsWithoutLimit(connections: number): ConnectionBounds {
  return { connections, refusals: MAX_REFUSALS, firstReserved: Infinity };
}

/** The smallest limit under which this many connections fit. */
export function limitFor(connections: number, reserved: number): number {
  const tight = Math.floor((REFUSALS_SHARE * (connections - 1)) / (REFUSALS_SHARE - 1)) + 1;
  return reserved + Math.min(tight, connections + MAX_REFUSALS);
}

/** The smallest limit with which the service starts. */
export function smallestLimit({ reserved, connections }: Omit<FileBudget, 'limit'>): number {
  return limitFor(Math.min(connections, MIN_CONNECTIONS), reserved);
}

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/**
 * How many files this process, or the one with this id, may have open. The runtime has already raised its soft limit to the hard one.
 * Null: unknown, or no limit.
 */
export function readOpenFileLimit(pid: number | 'self' = 'self'): number | null {
  if (process.platform === 'linux') return parseLimits(readLimits(pid));
  return pid === 'self' ? reportedLimit(process.report?.getReport()) : null;
}

function readLimits(pid: number | 'self'): string {
  try {
    return readFileSync(`/proc/${pid}/limits`, 'utf8');
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

/** The system reports "unlimited" as text. */
function toLimit(soft: unknown): number | null {
  const limit = Number(soft);
  return soft !== undefined && Number.isSafeInteger(limit) && limit > 0 ? limit : null;
}

/** Names of the C library on the supported systems: glibc, musl, macOS. */
const C_LIBRARIES = ['libc.so.6', 'libc.so', 'libSystem.B.dylib'];

/** These functions of the C library. Null: no library of these names exists. */
export function openCLibrary<const Fns extends Record<string, FFIFunction>>(functions: Fns) {
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // This system has no library of that name.
    }
  }
  return null;
}
