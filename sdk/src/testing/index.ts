import type { KeysCreateKeyRequest } from '../generated/api.ts';
import { Keystile, type KeystileOptions } from '../keystile.ts';
import { FakeService } from './fakeService.ts';

const URL_OF_FAKE = 'https://keystile.fake';

export interface FakeKeystileOptions extends Omit<KeystileOptions, 'url' | 'fetch'> {
  /** Where the clock starts. Default: 2026-01-01T00:00:00Z. */
  readonly startsAt?: string | Date | undefined;
}

/**
 * A Keystile in memory for your own tests: credits, refills and limits count as in the service, on a clock that the test moves. It has
 * apis.create, all of verify, keys.create, update, updateRemaining, rotate, delete, and identities.create, get, update, delete. Roles are
 * names only.
 */
export class FakeKeystile {
  /** The real client, over the fake service. */
  readonly keystile: Keystile;
  /** False: the service cannot be reached. */
  isReachable = true;
  #nowMs: number;
  readonly #service: FakeService;
  #apiId: string | undefined;

  constructor({ startsAt = '2026-01-01T00:00:00Z', ...options }: FakeKeystileOptions = {}) {
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
  get nowMs(): number {
    return this.#nowMs;
  }

  advance(milliseconds: number): void {
    if (!(milliseconds >= 0)) throw new Error(`The clock only goes forward, got ${milliseconds}.`);
    this.#nowMs += milliseconds;
  }

  /** Makes a key, in an api of its own unless one is given. */
  async createKey(fields: Partial<KeysCreateKeyRequest> = {}): Promise<{ keyId: string; key: string }> {
    this.#apiId ??= (await this.keystile.apis.create({ name: 'fake api' })).apiId;
    return this.keystile.keys.create({ apiId: this.#apiId, ...fields });
  }

  async #fetch(url: string, { body }: RequestInit): Promise<Response> {
    if (!this.isReachable) throw new TypeError('connection refused (ECONNREFUSED) by the fake');
    const answer = this.#service.answer(url.slice(URL_OF_FAKE.length), JSON.parse(body as string));
    const headers = { date: new Date(this.#nowMs).toUTCString() };
    return Response.json(answer.body, { status: answer.status, headers });
  }
}
