import type { Issue } from '../core/errors.ts';
import { EXIT } from '../serve/exitCodes.ts';
import type { Call } from './command.ts';
import { Failure } from './cliError.ts';
import { notKeystile } from './http.ts';
import { type Reached, reachService } from './findService.ts';
import { HOW_TO_GIVE_ROOT_KEY, loadRootKey } from './secrets.ts';
import { readSettings } from './settings.ts';

/** One request to the service and its answer. Every endpoint takes POST. */
export type Ask = <T extends object>(method: string, body: object) => Promise<T>;

/** Finds the service, lets `work` ask it with the root key, and lets go of it. */
export async function withService<T>({ io, flags }: Call, work: (ask: Ask) => Promise<T>): Promise<T> {
  const { config } = await readSettings(io, flags);
  const rootKey = await loadRootKey(io, config);
  return usingService(await reachService(config), rootKey, work);
}

/** The same with or without a root key, as it was found. */
export async function usingService<T>(
  reached: Reached,
  rootKey: string | null,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  try {
    return await work((method, body) => askOnce(reached, rootKey, { method, body }));
  } finally {
    await reached.close();
  }
}

async function askOnce<T>(
  reached: Reached,
  rootKey: string | null,
  { method, body }: { method: string; body: object },
): Promise<T> {
  const headers = {
    'content-type': 'application/json',
    ...(rootKey === null ? {} : { authorization: `Bearer ${rootKey}` }),
  };
  const request = new Request(`${reached.url}/v1/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const response = await reached.send(request);
  const answer = (await response.json().catch(() => null)) as T | null;
  if (response.ok && typeof answer === 'object' && answer !== null) return answer;
  throw toFailure(answer, rootKey) ?? notKeystile(reached.url, response.status);
}

/** The service's error in its own words, each of its issues on a line; null when it is none. */
function toFailure(answer: unknown, rootKey: string | null): Failure | null {
  const error = (answer as { error?: { code?: unknown; message?: unknown; issues?: readonly Issue[] } } | null)?.error;
  if (typeof error?.message !== 'string' || typeof error.code !== 'string') return null;
  const { code, message, issues } = error;
  const lines = issues === undefined ? [message] : issues.map((issue) => issue.message);
  if (code === 'UNAUTHORIZED' && rootKey === null) lines.push(HOW_TO_GIVE_ROOT_KEY);
  return new Failure(EXIT.FAILED, lines, { code, ...(issues === undefined ? {} : { issues }) });
}
