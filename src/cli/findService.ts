import { hostname } from 'node:os';

import type { Config } from '../config/variables.ts';
import { makeHandler } from '../http/app.ts';
import { localUrl } from '../serve/serve.ts';
import type { Owner } from '../storage/sqlite/file/dataFolder.ts';
import { wallClockMs } from '../system.ts';
import { failed, type Failure } from './cliError.ts';
import { isNotSent, notKeystile, send, unreachable } from './http.ts';
import {
  hasDatabase,
  noDatabase,
  type Opened,
  openUnlessOwned,
  ownedBy,
  PATIENCE_MS,
  tryPatiently,
} from './openDatabase.ts';

/** The service, wherever it was found: it answers HTTP requests. */
export interface Reached {
  readonly url: string;
  send(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Requests that never leave this process come from this machine. */
const OWN_ADDRESS = '127.0.0.1';

/**
 * KEYSTILE_URL when it is set, and nothing else then. Otherwise the server at the configured address; when none listens
 * there and nobody owns the data folder, the same HTTP service on that folder, inside this process.
 */
export async function reachService(config: Config): Promise<Reached> {
  if (config.url !== null) return overHttp(config.url);
  const url = localUrl(config.host, config.port);
  let owner: Owner | null = null;
  const reached = await tryPatiently(async () => {
    if (config.port !== 0 && (await answers(url))) return overHttp(url);
    if (!hasDatabase(config)) throw noDatabase(config, url);
    const found = await openUnlessOwned(config);
    if ('service' in found) return inProcess(found, url);
    owner = found;
    if (found.url !== null && found.host === hostname() && (await answers(found.url))) return overHttp(found.url);
    if (isSettled(found)) throw elsewhere(config, url, found);
    return null;
  });
  if (reached === null && owner !== null) throw elsewhere(config, url, owner);
  return reached ?? overHttp(url);
}

function overHttp(url: string): Reached {
  return {
    url,
    send: async (request) => {
      try {
        return await send(request);
      } catch (error) {
        throw unreachable(url, error);
      }
    },
    close: async () => {},
  };
}

function inProcess(opened: Opened, url: string): Reached {
  const handle = makeHandler(opened.service);
  return { url, send: (request) => handle(request, () => OWN_ADDRESS), close: () => opened.close() };
}

/** Whether Keystile answers there. Asked before the root key is sent: who else listens there shall not get it. */
async function answers(url: string): Promise<boolean> {
  let response: Response;
  try {
    response = await send(new Request(`${url}/v1/liveness`));
  } catch (error) {
    if (isNotSent(error)) return false;
    throw unreachable(url, error);
  }
  const body = (await response.json().catch(() => null)) as { status?: unknown } | null;
  if (body?.status !== 'ok') throw notKeystile(url, response.status);
  return true;
}

/** A server that has been up for a while listens already: somewhere else, then. */
function isSettled({ control, startedAt }: Owner): boolean {
  return control !== null && wallClockMs() - Date.parse(startedAt) > PATIENCE_MS;
}

function elsewhere(config: Config, url: string, owner: Owner): Failure {
  return failed(
    `${ownedBy(config, owner)}, and nothing answers at ${url}.`,
    'Set KEYSTILE_URL to the address that it printed when it started.',
  );
}
