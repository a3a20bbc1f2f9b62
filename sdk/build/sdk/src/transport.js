import { attempt } from './attempt.js';
import { KeystileError } from './errors.js';
/** A pause before the same URL is tried again. It doubles with each try; a random half of it is left out. */
const PAUSE_MS = 50;
/** After a failure, calls begin with another URL for this long. */
const AVOID_MS = 10_000;
/** Sends calls, and repeats those that failed where that is safe. */
export class Transport {
  #options;
  /** Until when a URL is not the first to be tried, in the order of the URLs. */
  #avoidUntilMs;
  constructor(options) {
    this.#options = options;
    this.#avoidUntilMs = options.urls.map(() => 0);
  }
  async send({ path, body, isRepeatable, signal }) {
    const { timeoutMs, totalTimeoutMs, retries, rootKey, fetch } = this.#options;
    const text = JSON.stringify(body);
    const deadlineMs = performance.now() + totalTimeoutMs;
    const order = this.#order();
    let mayBeDone = false;
    for (let tried = 0; ; tried++) {
      const index = order[tried % order.length] ?? 0;
      const url = this.#options.urls[index] ?? '';
      const leftMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
      try {
        return await attempt({ fetch, url, path, body: text, rootKey, timeoutMs: Math.min(timeoutMs, leftMs), signal });
      } catch (failure) {
        const own = failure;
        const error = mayBeDone && own.isCertainlyNotDone ? withEarlierTry(own) : own;
        if (!isTrouble(error)) throw error;
        mayBeDone ||= !error.isCertainlyNotDone;
        this.#avoidUntilMs[index] = performance.now() + AVOID_MS;
        const isSafe = own.isCertainlyNotDone || isRepeatable;
        if (!isSafe || tried >= retries) throw error;
        const isNextUrl = (tried + 1) % order.length !== 0;
        const pauseMs = isNextUrl ? 0 : pauseBefore(tried, order.length, error.retryAfterMs);
        if (performance.now() + pauseMs >= deadlineMs) throw error;
        if (pauseMs > 0) await rest(pauseMs, signal);
      }
    }
  }
  #order() {
    const nowMs = performance.now();
    const indexes = this.#avoidUntilMs.map((_, index) => index);
    const isAvoided = (index) => (this.#avoidUntilMs[index] ?? 0) > nowMs;
    return [...indexes.filter((index) => !isAvoided(index)), ...indexes.filter(isAvoided)];
  }
}
/**
 * The service or the way to it is in trouble. Otherwise the request itself was refused, by the service or by a gateway before it, or the
 * caller gave up: then nothing is tried again, and nothing passes.
 */
export function isTrouble({ code, status }) {
  if (status !== undefined) return status < 400 || status >= 500;
  return code !== 'CONFIGURATION' && code !== 'ABORTED';
}
/** The error of the last try, when an earlier one may have been carried out. */
function withEarlierTry(error) {
  const { status, requestId, docs, issues, retryAfterMs, cause } = error;
  const details = { status, requestId, docs, issues, retryAfterMs, cause, isCertainlyNotDone: false };
  return new KeystileError(error.code, error.message, details);
}
function pauseBefore(tried, urls, retryAfterMs) {
  const round = Math.floor(tried / urls);
  return Math.max(PAUSE_MS * 2 ** round * (1 - Math.random() / 2), retryAfterMs ?? 0);
}
/** Ends early when the caller gives up; the next attempt then reports it. */
function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}
