import { isLoopback } from '../core/address.ts';
import { failed, type CliError } from './cliError.ts';

const TIMEOUT_MS = 30_000;

/** Errors after which nothing was sent: nothing listens there, or the address does not exist. */
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

/** Requests to this machine never go through a proxy, even when the environment sets one. */
export function send(request: Request, timeoutMs = TIMEOUT_MS): Promise<Response> {
  const isHere = isLoopback(new URL(request.url).hostname);
  // Bun accepts `proxy: false`, but its types do not.
  const options = { signal: AbortSignal.timeout(timeoutMs), redirect: 'error', ...(isHere ? { proxy: false } : {}) };
  return fetch(request, options as RequestInit);
}

/** The message for the user when no answer came. */
export function unreachable(url: string, error: unknown): CliError {
  const address = shownUrl(url);
  const code = codeOf(error);
  if (isNotSent(error))
    return failed(
      `Nothing answers at ${address} (${code}). Check that the server is running and that KEYSTILE_URL is right.`,
    );
  if (code === 'TimeoutError')
    return failed(
      `${address} did not answer within ${TIMEOUT_MS / 1000} s. The request may still be carried out: check before you repeat it.`,
    );
  return failed(
    `The request to ${address} failed (${code}). It may have been carried out: check before you repeat it.`,
  );
}

export function notKeystile(url: string, status: number): CliError {
  return failed(`The server at ${shownUrl(url)} does not answer like Keystile (HTTP ${status}). Check KEYSTILE_URL.`);
}

/** The URL without user and password. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/$/, '');
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : (name ?? String(error));
}
