import { Keystile } from '../keystile.js';
import { FakeService } from './fakeService.js';
const URL_OF_FAKE = 'http://keystile.fake';
/**
 * A Keystile in memory for your own tests: credits, refills and limits count as in the service, on a clock that the test moves. It has
 * apis.create, all of verify, keys.create, update, updateRemaining, rotate, delete, and identities.create, get, update, delete. Roles are
 * names only.
 */
export class FakeKeystile {
  /** The real client, over the fake service. */
  keystile;
  /** False: the service cannot be reached. */
  isReachable = true;
  #nowMs;
  #service;
  #apiId;
  constructor({ startsAt = '2026-01-01T00:00:00Z', ...options } = {}) {
    this.#nowMs = new Date(startsAt).getTime();
    if (Number.isNaN(this.#nowMs)) throw new Error(`startsAt must be a time, got ${JSON.stringify(startsAt)}.`);
    this.#service = new FakeService(() => this.#nowMs);
    this.keystile = new Keystile({
      retries: 0,
      ...options,
      url: URL_OF_FAKE,
      fetch: (url, init) => this.#fetch(url, init),
    });
  }
  /** The time of the service, in Unix milliseconds. */
  get nowMs() {
    return this.#nowMs;
  }
  advance(milliseconds) {
    if (!(milliseconds >= 0)) throw new Error(`The clock only goes forward, got ${milliseconds}.`);
    this.#nowMs += milliseconds;
  }
  /** Makes a key, in an api of its own unless one is given. */
  async createKey(fields = {}) {
    this.#apiId ??= (await this.keystile.apis.create({ name: 'fake api' })).apiId;
    return this.keystile.keys.create({ apiId: this.#apiId, ...fields });
  }
  async #fetch(url, { body }) {
    if (!this.isReachable) throw new TypeError('connection refused (ECONNREFUSED) by the fake');
    const answer = this.#service.answer(url.slice(URL_OF_FAKE.length), JSON.parse(body));
    const headers = { date: new Date(this.#nowMs).toUTCString() };
    return Response.json(answer.body, { status: answer.status, headers });
  }
}
