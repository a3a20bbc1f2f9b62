import type { Schedule } from './calendar.ts';

/** The records as they are stored. Times are unix milliseconds; what was not set is null. */

export interface RefillRule extends Schedule {
  readonly amount: number;
  readonly mode: 'restore' | 'add';
  /** Ceiling of `add`; null = 2^53-1. */
  readonly max: number | null;
  /** When the rule was set: boundaries before it refilled nothing. */
  readonly sinceMs: number;
}

/** A key's counter: the balance itself lives in the ledger, under this account. */
export interface CreditsRecord {
  readonly account: number;
  readonly refill: RefillRule | null;
}

export interface LimitRecord {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  /** The strict window's account in the ledger; null when the limit is local. */
  readonly account: number | null;
}

export interface KeyRecord {
  readonly id: string;
  readonly apiId: string;
  readonly identityId: string | null;
  readonly secretDigest: string;
  readonly start: string;
  readonly name: string | null;
  /** JSON text of an object, null = none. Kept as text: verification never looks into it. */
  readonly meta: string | null;
  readonly environment: string | null;
  readonly enabled: boolean;
  readonly expiresAtMs: number | null;
  readonly credits: CreditsRecord | null;
  readonly limits: readonly LimitRecord[];
  readonly ipAllowlist: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly deletedAtMs: number | null;
  /** Grows with every change; a spend names the one it was decided under. */
  readonly revision: number;
}

export interface ApiRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
}

export interface IdentityRecord {
  readonly id: string;
  readonly externalId: string;
  readonly meta: string | null;
  readonly createdAtMs: number;
}

export interface RootKeyRecord {
  readonly id: string;
  readonly secretDigest: string;
  readonly start: string;
  readonly name: string | null;
  readonly rights: readonly string[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}

/** The limit that `ratelimit` on a key stands for. */
export const DEFAULT_LIMIT_NAME = 'default';

/** A key of which nothing is said. */
export const BLANK_KEY: KeyRecord = {
  id: '',
  apiId: '',
  identityId: null,
  secretDigest: '',
  start: '',
  name: null,
  meta: null,
  environment: null,
  enabled: true,
  expiresAtMs: null,
  credits: null,
  limits: [],
  ipAllowlist: [],
  createdAtMs: 0,
  updatedAtMs: null,
  deletedAtMs: null,
  revision: 0,
};
