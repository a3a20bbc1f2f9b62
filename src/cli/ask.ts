import type { Config } from '../config/variables.ts';
import type { Issue } from '../core/errors.ts';
import { EXIT } from '../serve/exit.ts';
import type { Call } from './command.ts';
import { CliError } from './cliError.ts';
import { notKeystile } from './http.ts';
import { findService, type ServiceConnection } from './findService.ts';
import { HOW_TO_GIVE_ROOT_KEY, loadRootKey } from './secrets.ts';
import { readClientSettings } from './profiles.ts';

/** Sends one request to the service and returns its answer. Every endpoint accepts POST. */
export type Ask = <T extends object>(method: string, body: object) => Promise<T>;

/** Finds the service, runs `work` with the root key, and closes the connection. `before` runs before a root key is asked for. */
export async function withService<T>(
  { io, flags }: Call,
  work: (ask: Ask) => Promise<T>,
  before: (config: Config) => Promise<void> = async () => {},
): Promise<T> {
  const { config } = await readClientSettings(io, flags);
  await before(config);
  const rootKey = await loadRootKey(io, config);
  return usingService(await findService(config), rootKey, work);
}

/** Runs `work` on a service that was found, with or without a root key, and closes the connection. */
export async function usingService<T>(
  connection: ServiceConnection,
  rootKey: string | null,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  try {
    return await work((method, body) => askOnce(connection, rootKey, { method, body }));
  } finally {
    await connection.close();
  }
}

async function askOnce<T>(
  connection: ServiceConnection,
  rootKey: string | null,
  { method, body }: { method: string; body: object },
): Promise<T> {
  const headers = {
    'content-type': 'application/json',
    ...(rootKey === null ? {} : { authorization: `Bearer ${rootKey}` }),
  };
  const request = new Request(`${connection.url}/v1/${method}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const response = await connection.send(request);
  const answer = (await response.json().catch(() => null)) as T | null;
  if (response.ok && typeof answer === 'object' && answer !== null) return answer;
  throw toCliError(answer, rootKey) ?? notKeystile(connection.url, response.status);
}

/** The error of the service in its own words, one issue on each line. Null: the answer is not an error of Keystile. */
function toCliError(answer: unknown, rootKey: string | null): CliError | null {
  const error = (answer as { error?: { code?: unknown; message?: unknown; issues?: readonly Issue[] } } | null)?.error;
  if (typeof error?.message !== 'string' || typeof error.code !== 'string') return null;
  const { code, message, issues } = error;
  const lines = issues === undefined ? [message] : issues.map((issue) => issue.message);
  if (code === 'UNAUTHORIZED' && rootKey === null) lines.push(HOW_TO_GIVE_ROOT_KEY);
  return new CliError(EXIT.FAILED, lines, { code, ...(issues === undefined ? {} : { issues }) });
}
