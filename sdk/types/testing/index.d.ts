import type { KeysCreateKeyRequest } from '../generated/api.js';
import { Keystile, type KeystileOptions } from '../keystile.js';
export interface FakeKeystileOptions extends Omit<KeystileOptions, 'url' | 'fetch'> {
  /** Where the clock starts. Default: 2026-01-01T00:00:00Z. */
  readonly startsAt?: string | Date | undefined;
}
/**
 * A Keystile in memory for your own tests: credits, refills and limits count as in the service, on a clock that the test moves. It has
 * apis.create, all of verify, keys.create, update, updateRemaining, rotate, delete, and identities.create, get, update, delete. Roles are
 * names only.
 */
export declare class FakeKeystile {
  #private;
  /** The real client, over the fake service. */
  readonly keystile: Keystile;
  /** False: the service cannot be reached. */
  isReachable: boolean;
  constructor({ startsAt, ...options }?: FakeKeystileOptions);
  /** The time of the service, in Unix milliseconds. */
  get nowMs(): number;
  advance(milliseconds: number): void;
  /** Makes a key, in an api of its own unless one is given. */
  createKey(fields?: Partial<KeysCreateKeyRequest>): Promise<{
    keyId: string;
    key: string;
  }>;
}
