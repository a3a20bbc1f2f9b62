import { KeystileError } from './errors.js';
import { CALLS } from './generated/api.js';
import { makeGroups } from './groups.js';
import { HeldReservation, toReserveWire } from './heldReservation.js';
import { isTrouble, Transport } from './transport.js';
import { Verifications } from './verifications.js';
import { toWire } from './verifyRequest.js';
/** The client of one Keystile service. Make one and keep it. */
export class Keystile {
  apis;
  keys;
  identities;
  plans;
  credits;
  reservations;
  permissions;
  migrations;
  rootKeys;
  portal;
  sessions;
  audit;
  events;
  webhooks;
  ratelimits;
  analytics;
  usage;
  service;
  #transport;
  #verifications;
  #onUnavailable;
  #onVerdict;
  constructor(options = {}) {
    const { timeoutMs = 1_000, totalTimeoutMs = 2_000, retries = 2, batch = true } = options;
    checkNumbers({ timeoutMs, totalTimeoutMs, retries });
    this.#onUnavailable = options.onUnavailable ?? 'refuse';
    this.#onVerdict = options.onVerdict;
    this.#transport = new Transport({
      urls: urlsOf(options.url ?? environment('KEYSTILE_URL')),
      rootKey: checkedRootKey(options.rootKey ?? environment('KEYSTILE_ROOT_KEY')),
      timeoutMs,
      totalTimeoutMs,
      retries,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    });
    this.#verifications = new Verifications(this.#transport, batch);
    const groups = makeGroups(CALLS, (sending) => this.#bodyOf(sending));
    this.apis = groups.apis;
    this.keys = groups.keys;
    this.identities = groups.identities;
    this.plans = groups.plans;
    this.credits = groups.credits;
    this.reservations = groups.reservations;
    this.permissions = groups.permissions;
    this.migrations = groups.migrations;
    this.rootKeys = groups.rootKeys;
    this.portal = groups.portal;
    this.sessions = groups.sessions;
    this.audit = groups.audit;
    this.events = groups.events;
    this.webhooks = groups.webhooks;
    this.ratelimits = groups.ratelimits;
    this.analytics = groups.analytics;
    this.usage = groups.usage;
    this.service = groups.service;
  }
  /**
   * May this request pass? Never throws: when there is no verdict, `code` is `UNAVAILABLE`, `cause` says why, and `onUnavailable` decides.
   */
  async verify(key, options = {}) {
    const startedAtMs = performance.now();
    const { signal: _signal, ...request } = options;
    const verdict = await this.#verdict(key, options).catch((error) => this.#unavailable(error, request));
    this.#report({ verdict, request, durationMs: performance.now() - startedAtMs });
    return verdict;
  }
  /**
   * Verifies a key and holds the credits that the call may cost. Settle it with the real cost, and close it in `finally`: it is released
   * when it was not settled.
   * Never throws, as `verify`. Settling and releasing need a root key with the right to verify.
   */
  async reserve(key, options) {
    const startedAtMs = performance.now();
    const { signal, ttlMs: _ttlMs, onExpiry: _onExpiry, ...request } = options;
    const asked = this.#verifications.askToReserve(toReserveWire(key, options), signal);
    const verdict = await asked.catch((error) => this.#unavailable(error, request));
    this.#report({ verdict, request, durationMs: performance.now() - startedAtMs });
    return new HeldReservation(verdict, (sending) => this.#bodyOf(sending));
  }
  /** Calls an endpoint by its path, for example one that is newer than this version. */
  async call(path, body, options = {}) {
    // A path that continues the host would carry the root key to another one.
    if (!path.startsWith('/'))
      throw wrongOption('The path of a call must begin with a slash, for example /v1/keys.restoreKey.');
    return this.#bodyOf({ path, body, isRepeatable: false, signal: options.signal });
  }
  async #bodyOf(sending) {
    return (await this.#transport.send(sending)).body;
  }
  /** A log that fails, at once or later, must not decide about a request. */
  #report(event) {
    try {
      const reported = this.#onVerdict?.(event);
      if (reported instanceof Promise) reported.catch(() => {});
    } catch {
      // The verdict stands.
    }
  }
  async #verdict(key, options) {
    return this.#verifications.ask(toWire(key, options), options.signal);
  }
  async #unavailable(failure, request) {
    const cause =
      failure instanceof KeystileError
        ? failure
        : new KeystileError('CONFIGURATION', `The verification could not be sent: ${String(failure)}.`, {
            isCertainlyNotDone: true,
            cause: failure,
          });
    return { valid: await this.#passes(cause, request), code: 'UNAVAILABLE', cause };
  }
  /** A request that the service refuses to read never passes: its sender may have made it so. */
  async #passes(cause, request) {
    if (!isTrouble(cause) || this.#onUnavailable === 'refuse') return false;
    if (this.#onUnavailable === 'allow') return true;
    try {
      const passes = await this.#onUnavailable(cause, request);
      return passes === true;
    } catch {
      return false;
    }
  }
}
function urlsOf(given) {
  const urls = typeof given === 'string' ? given.split(',') : (given ?? []);
  const read = urls.map((url) => url.trim()).filter((url) => url !== '');
  if (read.length === 0)
    throw wrongOption('Keystile needs an address. Pass { url: "http://127.0.0.1:7878" } or set KEYSTILE_URL.');
  return read.map((url) => {
    const parsed = URL.canParse(url) ? new URL(url) : null;
    if (parsed === null || !/^https?:$/.test(parsed.protocol))
      throw wrongOption('The url of Keystile must begin with http:// or https://.');
    if (parsed.username !== '' || parsed.password !== '')
      throw wrongOption('The url of Keystile must not contain a user name or password. Pass the root key as rootKey.');
    return parsed.origin + parsed.pathname.replace(/\/+$/, '');
  });
}
/** A header cannot contain other characters, and the runtime's own error would show the root key. */
function checkedRootKey(rootKey) {
  if (rootKey === undefined || /^[\x21-\x7e]+$/.test(rootKey)) return rootKey;
  throw wrongOption('The root key must be one word. Check that it has no line break or space around it.');
}
function checkNumbers({ retries, ...times }) {
  for (const [name, value] of Object.entries(times))
    if (!(Number.isFinite(value) && value > 0)) throw wrongOption(`${name} must be a number above 0, got ${value}.`);
  if (!(Number.isSafeInteger(retries) && retries >= 0))
    throw wrongOption(`retries must be a whole number from 0 on, got ${retries}.`);
}
function wrongOption(message) {
  return new KeystileError('CONFIGURATION', message, { isCertainlyNotDone: true });
}
/** A variable of the environment, where the runtime has one and lets it be read. */
function environment(name) {
  try {
    const { process } = globalThis;
    return process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
