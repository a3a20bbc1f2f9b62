import { endOfTurn } from './endOfTurn.js';
import { errorOfBody, isRecord, KeystileError } from './errors.js';
import { isTrouble } from './transport.js';
import { verdictOf } from './verdict.js';
/** The service takes this many in one call. */
const MAX_TOGETHER = 100;
/** A longer request is sent alone, where the service refuses it alone. */
const MAX_SHARED_CHARACTERS = 2_048;
/** The characters that a key may have. Another text is no key, and need not be asked about. */
const KEY = /^[\x20-\x7e]{1,512}$/;
const NO_KEY = { valid: false, code: 'NOT_FOUND', requestId: '', meta: {} };
/**
 * Asks for verdicts. Verifications of one turn of the event loop share one call, each with its own verdict or error. There is no timer:
 * the call is sent when the turn ends.
 */
export class Verifications {
  #transport;
  #isShared;
  /** Those that may be repeated share other calls than those that may not: a call is repeated as a whole. */
  #waiting = { once: [], repeatable: [] };
  constructor(transport, isShared) {
    this.#transport = transport;
    this.#isShared = isShared;
  }
  /** Throws a KeystileError when there is no verdict. */
  ask(request, signal) {
    if (!KEY.test(request.key)) return Promise.resolve(NO_KEY);
    // A caller who can give up alone asks alone.
    if (!this.#isShared || signal !== undefined || JSON.stringify(request).length > MAX_SHARED_CHARACTERS)
      return this.#askAlone(request, signal);
    const waiting = this.#waiting[isRepeatable(request) ? 'repeatable' : 'once'];
    return new Promise((answered, failed) => {
      waiting.push({ request, answered, failed });
      if (waiting.length === 1) endOfTurn(() => this.#send(waiting));
      if (waiting.length === MAX_TOGETHER) this.#send(waiting);
    });
  }
  /** Reservations are asked for one by one. */
  async askToReserve(body, signal) {
    if (!KEY.test(body.key)) return NO_KEY;
    return this.#verdictOf({ path: '/v1/reservations.create', body, isRepeatable: true, signal });
  }
  #send(list) {
    const waiting = list.splice(0);
    const [first] = waiting;
    if (first === undefined) return;
    if (waiting.length === 1) this.#settle(first, this.#askAlone(first.request, undefined));
    else void this.#askTogether(waiting);
  }
  #askAlone(request, signal) {
    return this.#verdictOf({ path: '/v1/keys.verifyKey', body: request, isRepeatable: isRepeatable(request), signal });
  }
  async #verdictOf(sending) {
    const { body, answeredAtMs } = await this.#transport.send(sending);
    const verdict = verdictOf(body, answeredAtMs);
    if (verdict === null) throw notUnderstood();
    return verdict;
  }
  async #askTogether(waiting) {
    const keys = waiting.map(({ request }) => request);
    let results;
    let answeredAtMs;
    try {
      const sending = { path: '/v1/keys.verifyKeys', body: { keys }, isRepeatable: keys.every(isRepeatable) };
      const reply = await this.#transport.send(sending);
      results = listOf(reply.body);
      ({ answeredAtMs } = reply);
      if (results.length !== waiting.length) throw notUnderstood();
    } catch (failure) {
      for (const each of waiting) this.#afterFailure(each, failure);
      return;
    }
    for (const [index, each] of waiting.entries()) {
      const verdict = verdictOf(results[index], answeredAtMs);
      if (verdict === null) each.failed(errorOfBody(results[index], null) ?? notUnderstood());
      else each.answered(verdict);
    }
  }
  /**
   * A request that the service refuses to read makes the whole call fail. It must not harm the others, so each is asked again alone. A
   * service in trouble is not asked a hundred times instead of once.
   */
  #afterFailure(each, error) {
    if (error.isCertainlyNotDone && !isTrouble(error)) this.#settle(each, this.#askAlone(each.request, undefined));
    else each.failed(error);
  }
  #settle({ answered, failed }, asked) {
    asked.then(answered, failed);
  }
}
function listOf(body) {
  return isRecord(body) && Array.isArray(body['results']) ? body['results'] : [];
}
function isRepeatable({ idempotencyKey }) {
  return idempotencyKey !== undefined;
}
function notUnderstood() {
  const words = 'The answer contains no verdict. Check that the url is the address of Keystile itself, without a path.';
  return new KeystileError('BAD_RESPONSE', words, { isCertainlyNotDone: false });
}
