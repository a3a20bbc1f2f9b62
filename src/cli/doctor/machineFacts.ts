import { constants, readdirSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { localUrl } from '../../basics/localUrl.ts';
import {
  type CertificateFact,
  type FolderEntry,
  type FolderFact,
  type NotKnown,
  type OpenFilesFact,
  PLAIN_HTTP,
  type PortFact,
} from '../../doctor/facts.ts';
import { fitConnections, limitFor, readOpenFileLimit, reservedFiles } from '../../serve/openFiles.ts';
import { tryCertificate } from '../../serve/tls/certificate.ts';
import { freePortAfter, tryPort } from '../../serve/tryPort.ts';
import { isOfService } from '../../storage/sqlite/file/dataFolder.ts';
import { wallClockMs } from '../../bunPlatform.ts';
import { tryLocalTrust } from '../trust.ts';
import { type AtAddress, isAccessible, type Running, whoIsAt, whoseMetricsAreAt } from './askService.ts';

export async function readPort({ host, port, tlsCert }: Config, { url: answering, owner }: Running): Promise<PortFact> {
  // A server that does not answer holds its port too.
  const url = answering ?? owner?.url ?? null;
  if (url !== null) return { port: Number(new URL(url).port) || port, state: 'ours', reason: '', free: 0 };
  if (port === 0) return anyPort();
  const here = localUrl(host, port, tlsCert !== null);
  return portState(host, port, await whoIsAt(here, tryLocalTrust(tlsCert, here)));
}

export async function readMetricsPort(
  { metricsHost: host, metricsPort: port }: Config,
  running: Running,
): Promise<PortFact> {
  if (port === 0) return anyPort();
  const who = await whoseMetricsAreAt(localUrl(host, port, false));
  const isOurs = who === 'keystile' ? running.url !== null : who === 'silent' && running.owner?.url != null;
  if (isOurs) return { port, state: 'ours', reason: '', free: 0 };
  return portState(host, port, who);
}

/** The certificate that the settings name. */
export function readCertificate({ tlsCert, tlsKey }: Config): CertificateFact | NotKnown {
  if (tlsCert === null || tlsKey === null) return PLAIN_HTTP;
  return tryCertificate({ certPath: tlsCert, keyPath: tlsKey }, wallClockMs());
}

function anyPort(): PortFact {
  return { port: 0, state: 'free', reason: '', free: 0 };
}

const REASONS: Readonly<Record<Exclude<AtAddress, 'nobody'>, string>> = {
  keystile: 'another Keystile, on another database',
  another: 'it does not answer like Keystile',
  silent: 'it does not answer',
};

/** A port at which nobody answers may still be taken, or forbidden for this user. */
function portState(host: string, port: number, who: AtAddress): PortFact {
  const failure = who === 'nobody' ? tryPort(host, port) : 'EADDRINUSE';
  if (failure === null) return { port, state: 'free', reason: '', free: port };
  const state = failure === 'EADDRINUSE' ? 'taken' : 'unusable';
  return { port, state, reason: who === 'nobody' ? failure : REASONS[who], free: freePortAfter(host, port) };
}

/** By the limit of the process that runs the service, where it is known; otherwise by that of this shell. */
export function readOpenFiles(
  { maxConnections: connections, databasePool }: Config,
  { owner }: Running,
): OpenFilesFact {
  const pid = owner !== null && owner.host === hostname() ? owner.pid : null;
  const limit = (pid === null ? null : readOpenFileLimit(pid)) ?? readOpenFileLimit();
  const reserved = reservedFiles(databasePool);
  const fitting = fitConnections({ limit, reserved, connections })?.connections ?? 0;
  return { limit, fitting, needed: limitFor(connections, reserved) };
}

/** The folder, and what the service has in it. */
export function readFolder(path: string): FolderFact {
  const top = readEntry(path, '.', constants.R_OK | constants.W_OK | constants.X_OK);
  if (top === null || !statSync(path).isDirectory()) return null;
  if (!top.isAccessible) return [top];
  const names = readdirSync(path).filter(isOfService);
  const entries = names.map((name) => readEntry(join(path, name), name, constants.R_OK | constants.W_OK));
  return [top, ...entries.filter((entry) => entry !== null)];
}

/** Null: it is not there, or not any more. */
function readEntry(path: string, name: string, access: number): FolderEntry | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const { mode, uid } = found;
  return { name, mode: mode & 0o777, uid, isOwn: uid === process.getuid?.(), isAccessible: isAccessible(path, access) };
}
