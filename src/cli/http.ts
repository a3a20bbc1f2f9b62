import { isLoopback } from '../core/address.ts';
import { failed, type CliError } from './cliError.ts';
import type { Trust } from './trust.ts';

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

/** The server ended the connection before it answered, as a service with TLS does when it is asked over plain HTTP. */
export function isCut(error: unknown): boolean {
  return codeOf(error) === 'ECONNRESET';
}

/** Requests to this machine never go through a proxy, even when the environment sets one. */
export function send(request: Request, trust: Trust | null = null, timeoutMs = TIMEOUT_MS): Promise<Response> {
  const isHere = isLoopback(new URL(request.url).hostname);
  // Bun accepts `proxy: false`, but its types do not.
  const options = {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
    ...(isHere ? { proxy: false } : {}),
    ...(trust === null ? {} : { tls: trust }),
  };
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
  const wrongTls = explainTls(address, code);
  if (wrongTls !== null) return failed(wrongTls);
  const hint = isCut(error) && address.startsWith('http:');
  return failed(
    `The request to ${address} failed (${code}). It may have been carried out: check before you repeat it.`,
    ...(hint ? ['If the service speaks TLS, begin KEYSTILE_URL with https://.'] : []),
  );
}

/** Failures of the handshake: the request was not sent. */
function explainTls(address: string, code: string): string | null {
  if (code === 'EPROTO')
    return `${address} does not speak TLS (${code}); nothing was sent. Check whether KEYSTILE_URL must begin with http://.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${address} is for another name (${code}); nothing was sent. Set KEYSTILE_URL to a name that the certificate holds.`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `The certificate of ${address} is not valid now (${code}); nothing was sent. Renew it, or check the clock.`;
  if (/^(?:UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|CERT_)/.test(code))
    return `The certificate of ${address} is not trusted (${code}); nothing was sent. Set NODE_EXTRA_CA_CERTS to the file of the authority that issued it.`;
  return null;
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
