import { isLoopback } from '../config/read.ts';
import { failed, type Failure } from './cliError.ts';

const TIMEOUT_MS = 30_000;

/** Nothing was sent: no one listens there, or there is no such place. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ConnectionRefused',
  'FailedToOpenSocket',
]);

export function isNotSent(error: unknown): boolean {
  return NOT_SENT.has(codeOf(error));
}

/** A service on this machine is never asked through a proxy, whatever the environment says of proxies. */
export function send(request: Request): Promise<Response> {
  const isHere = isLoopback(new URL(request.url).hostname.replace(/^\[|\]$/g, ''));
  // `proxy: false` is understood by Bun, and missing in its types.
  const options = { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error', ...(isHere ? { proxy: false } : {}) };
  return fetch(request, options as RequestInit);
}

/** What a person is told when no answer came. */
export function unreachable(url: string, error: unknown): Failure {
  const place = shownUrl(url);
  const code = codeOf(error);
  if (isNotSent(error))
    return failed(`Nothing answers at ${place} (${code}). Is the server running, and is KEYSTILE_URL right?`);
  if (code === 'TimeoutError')
    return failed(`${place} gave no answer within ${TIMEOUT_MS / 1000} s. What was asked may still be done.`);
  return failed(`Asking ${place} failed (${code}). What was asked may have been done.`);
}

export function notKeystile(url: string, status: number): Failure {
  return failed(
    `What listens at ${shownUrl(url)} does not answer like Keystile (HTTP ${status}). Is KEYSTILE_URL right?`,
  );
}

/** A URL may hold a password: it is not shown. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/$/, '');
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : (name ?? String(error));
}
