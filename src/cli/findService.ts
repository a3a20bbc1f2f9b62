import { hostname } from 'node:os';

import type { Config } from '../config/variables.ts';
import { localUrl } from '../basics/localUrl.ts';
import type { Owner } from '../storage/sqlite/file/dataFolder.ts';
import { wallClockMs } from '../bunPlatform.ts';
import { failed, type CliError } from './cliError.ts';
import { isCut, isNotSent, notKeystile, send, unreachable } from './http.ts';
import { hasDatabase, noDatabase, openUnlessOwned, ownedBy, retryFor, WAIT_FOR_OWNER_MS } from './openDatabase.ts';
import { localTrust, type Trust } from './trust.ts';

/** A way to send HTTP requests to the service: over the network, or inside this process. */
export interface ServiceConnection {
  readonly url: string;
  send(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/**
 * With KEYSTILE_URL, only that server is used. Otherwise the server at the configured address is used. When none listens
 * there and no process owns the data folder, this process opens the folder and runs the same HTTP service in itself.
 */
export async function findService(config: Config): Promise<ServiceConnection> {
  if (config.url !== null) return overHttp(config.url, null);
  const url = localUrl(config.host, config.port, config.tlsCert !== null);
  const trust = config.tlsCert === null ? null : localTrust(config.tlsCert, url);
  let owner: Owner | null = null;
  const connection = await retryFor(async () => {
    if (config.port !== 0 && (await answers(url, trust))) return overHttp(url, trust);
    if (!hasDatabase(config)) throw noDatabase(config, url);
    const found = await openUnlessOwned(config);
    if ('engine' in found) return { ...found, url };
    owner = found;
    if (found.url !== null && found.host === hostname()) {
      const ownTrust = found.tlsCert === undefined ? null : localTrust(found.tlsCert, found.url);
      if (await answers(found.url, ownTrust)) return overHttp(found.url, ownTrust);
    }
    if (hasStarted(found)) throw listensElsewhere(config, url, found);
    return null;
  });
  if (connection === null && owner !== null) throw listensElsewhere(config, url, owner);
  return connection ?? overHttp(url, trust);
}

/** A service that runs. `sentence` says why one is needed. */
export async function findRunningService(config: Config, sentence: string): Promise<ServiceConnection> {
  const connection = await findService(config);
  if (!('engine' in connection)) return connection;
  await connection.close();
  throw failed(`${sentence} Start it with keystile serve.`);
}

function overHttp(url: string, trust: Trust | null): ServiceConnection {
  return {
    url,
    send: async (request) => {
      try {
        return await send(request, trust);
      } catch (error) {
        throw unreachable(url, error);
      }
    },
    close: async () => {},
  };
}

/** Whether Keystile answers there. Checked before the root key is sent, so that no other program receives it. */
async function answers(url: string, trust: Trust | null): Promise<boolean> {
  let response: Response;
  try {
    response = await send(new Request(`${url}/v1/liveness`), trust);
  } catch (error) {
    if (isNotSent(error) || isCut(error)) return false;
    throw unreachable(url, error);
  }
  const body = (await response.json().catch(() => null)) as { status?: unknown } | null;
  if (body?.status !== 'ok') throw notKeystile(url, response.status);
  return true;
}

/** Whether the owner is a server that started long enough ago to listen. It then listens at another address. */
function hasStarted({ control, startedAt }: Owner): boolean {
  return control !== null && wallClockMs() - Date.parse(startedAt) > WAIT_FOR_OWNER_MS;
}

function listensElsewhere(config: Config, url: string, owner: Owner): CliError {
  return failed(
    `${ownedBy(config, owner)}, and nothing answers at ${url}.`,
    'Set KEYSTILE_URL to the address that the service printed when it started.',
  );
}
