import { errorOfBody, KeystileError } from './errors.js';
/** Sends a request once. Throws a KeystileError for everything but a success. */
export async function attempt({ fetch, url, path, body, rootKey, timeoutMs, signal }) {
  if (isAborted(signal)) throw aborted(signal, true);
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), timeoutMs);
  const abort = () => ending.abort();
  signal?.addEventListener('abort', abort);
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(rootKey === undefined ? {} : { authorization: `Bearer ${rootKey}` }),
      },
      body,
      // A redirect would carry keys to another host.
      redirect: 'manual',
      signal: ending.signal,
    });
    return read(url, response, await textOf(response));
  } catch (failure) {
    if (failure instanceof KeystileError) throw failure;
    if (isAborted(signal)) throw aborted(signal, false);
    if (ending.signal.aborted) {
      const words = `Keystile at ${shown(url)} did not answer within ${timeoutMs} ms. Check that it is reachable, or raise timeoutMs.`;
      throw new KeystileError('TIMEOUT', words, { isCertainlyNotDone: false, cause: withoutRequest(failure) });
    }
    throw lostOnTheWay(url, failure);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
function read(url, response, text) {
  const body = parse(text);
  if (response.ok && body !== undefined) return { body, answeredAtMs: timeOf(response) };
  const known = body === undefined ? null : errorOfBody(body, response.status, retryAfterMs(response));
  throw known ?? badResponse(url, response);
}
/** An answer that is longer is not one of Keystile. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;
/** Reads no more than the bound, so that no server can fill the memory. A text that is cut off is no JSON. */
async function textOf(response) {
  const { headers, body } = response;
  const length = headers.get('content-length');
  if (length !== null && Number(length) <= MAX_ANSWER_BYTES && !headers.has('content-encoding')) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  const reader = body?.getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) return text + decoder.decode();
    bytes += chunk.value.length;
    if (bytes > MAX_ANSWER_BYTES) {
      await reader?.cancel();
      return '';
    }
    text += decoder.decode(chunk.value, { stream: true });
  }
}
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
/** Seconds, or a date. The date is compared to the server's own, so that the clock of this machine does not matter. */
function retryAfterMs({ headers }) {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
function timeOf({ headers }) {
  const ms = Date.parse(headers.get('date') ?? '');
  return Number.isFinite(ms) ? ms : undefined;
}
function badResponse(url, { status, type }) {
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400);
  const what = isRedirect ? 'a redirect' : `status ${status} and a body that is not Keystile's JSON`;
  return new KeystileError(
    'BAD_RESPONSE',
    `The server at ${shown(url)} answered with ${what}. Check that the url is the address of Keystile itself, without a path.`,
    { status, isCertainlyNotDone: isRedirect || status === 404 },
  );
}
function isAborted(signal) {
  return signal?.aborted === true;
}
function aborted(signal, isCertainlyNotDone) {
  return new KeystileError('ABORTED', 'The call was ended by its AbortSignal.', {
    isCertainlyNotDone,
    cause: signal?.reason,
  });
}
/** What runtimes call a request that was never sent. All else may have been carried out. */
const UNREACHABLE =
  /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)\b|\bConnection refused\b|\bdns error\b|^Unable to connect/i;
/** A certificate that was not accepted. A TLS connection that breaks later has other codes. */
const CERTIFICATE =
  /\b(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|CERT_UNTRUSTED|CERT_REVOKED|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME_INVALID)\b|\binvalid peer certificate\b/;
function lostOnTheWay(url, failure) {
  // A runtime may name the address, which could contain such a word.
  const reason = reasonOf(failure).replaceAll(new URL(url).host, '').replaceAll(new URL(url).hostname, '');
  if (UNREACHABLE.test(reason)) {
    const words = `Keystile cannot be reached at ${shown(url)}. Check the url, and that the service is running.`;
    return new KeystileError('UNREACHABLE', words, { isCertainlyNotDone: true, cause: withoutRequest(failure) });
  }
  if (CERTIFICATE.test(reason)) {
    const words = `The TLS connection to ${shown(url)} failed. Check its certificate, and that the url begins with http:// or https:// as the service does.`;
    return new KeystileError('TLS', words, { isCertainlyNotDone: true, cause: withoutRequest(failure) });
  }
  const words = `The connection to Keystile at ${shown(url)} ended before the answer. The call may have been carried out.`;
  return new KeystileError('CONNECTION_LOST', words, { isCertainlyNotDone: false, cause: withoutRequest(failure) });
}
/** What a runtime says of a failure may contain headers, and with them the root key. Only its name and code are kept. */
function withoutRequest(failure) {
  const { name, code, cause } = failure;
  const words = [name, code ?? cause?.code].filter((word) => typeof word === 'string');
  return new Error(words.join(' ') || 'unknown failure');
}
/** Codes and messages of a failure and of what caused it. */
function reasonOf(failure) {
  const words = [];
  let next = failure;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    const { code } = next;
    words.push(typeof code === 'string' ? code : '', next.message);
    if (next instanceof AggregateError) words.push(...next.errors.map(String));
    next = next.cause;
  }
  return words.join(' ');
}
/** Without a user name and password. */
function shown(url) {
  return new URL(url).origin;
}
