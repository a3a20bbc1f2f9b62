import type { AccountChange, AccountState, RefillPlan } from '../../src/core/account.ts';
import {
  type ApiRecord,
  BLANK_KEY,
  type IdentityRecord,
  type KeyRecord,
  type RootKeyRecord,
} from '../../src/core/records.ts';
import type { IdempotencyKey, Leg, Spend, SpendOutcome } from '../../src/core/spend.ts';
import type { Change, ChangeOutcome, RecordWrite, Storage } from '../../src/storage/port.ts';

/** Records and requests as the engine makes them; a test names only what it is about. */

export function api(id: string, fields: Partial<ApiRecord> = {}): ApiRecord {
  return { id, name: `name of ${id}`, createdAtMs: 1_000, ...fields };
}

export function identity(id: string, externalId: string, fields: Partial<IdentityRecord> = {}): IdentityRecord {
  return { id, externalId, meta: null, createdAtMs: 2_000, ...fields };
}

export function key(id: string, fields: Partial<KeyRecord> = {}): KeyRecord {
  const named = {
    id,
    apiId: 'api_1',
    secretDigest: `digest of ${id}`,
    start: 'sk_1234',
    createdAtMs: 3_000,
    revision: 1,
  };
  return { ...BLANK_KEY, ...named, ...fields };
}

export function rootKey(id: string, fields: Partial<RootKeyRecord> = {}): RootKeyRecord {
  return {
    id,
    secretDigest: `digest of ${id}`,
    start: 'root_1234',
    name: null,
    rights: ['*'],
    createdAtMs: 4_000,
    expiresAtMs: null,
    revokedAtMs: null,
    ...fields,
  };
}

export function write(storage: Storage, ...writes: readonly RecordWrite[]): Promise<ChangeOutcome> {
  return storage.ledger.apply({ writes, accounts: [] });
}

export function change(...accounts: readonly AccountChange[]): Change {
  return { writes: [], accounts };
}

/** Opens a counter with this balance under revision 1. */
export async function openCredits(storage: Storage, balance: number, fields: Partial<AccountChange> = {}) {
  const [account = 0] = await storage.ledger.reserveAccounts(1);
  const opening = { account, expect: 0, open: 'credits' as const, refill: null, set: balance, revision: 1, ...fields };
  await storage.ledger.apply(change(opening));
  return account;
}

/** Opens an empty strict window under revision 1. */
export async function openStrict(storage: Storage) {
  const [account = 0] = await storage.ledger.reserveAccounts(1);
  await storage.ledger.apply(change({ account, expect: 0, open: 'window', refill: null, revision: 1 }));
  return account;
}

export function credits(account: number, amount: number, refill: RefillPlan | null = null, revision = 1): Leg {
  return { account, amount, rule: { kind: 'credits', refill }, revision };
}

/** A leg of a window of one minute unless told otherwise. */
export function strict(account: number, amount: number, limit: number, durationMs = 60_000, revision = 1): Leg {
  return { account, amount, rule: { kind: 'window', limit, durationMs }, revision };
}

export function spendOf(...legs: readonly Leg[]): Spend {
  return { legs, idempotency: null };
}

export function idempotency(id: string, requestDigest = 'request', scope = 'key_1'): IdempotencyKey {
  return { scope, id, requestDigest };
}

const DAY_MS = 86_400_000;

/** A daily refill as it is planned at `nowMs`. */
export function dailyPlan(nowMs: number, amount: number, fields: Partial<RefillPlan> = {}): RefillPlan {
  const epoch = Math.floor(nowMs / DAY_MS);
  const startMs = epoch * DAY_MS;
  return { epoch, startMs, nextMs: startMs + DAY_MS, amount, mode: 'restore', max: null, ...fields };
}

export async function balanceOf(storage: Storage, account: number): Promise<number | undefined> {
  const [state] = await storage.ledger.read([account]);
  return state?.value;
}

export async function stateOf(storage: Storage, account: number): Promise<AccountState | undefined> {
  return (await storage.ledger.read([account]))[0];
}

/** Several at once, in this order: they arrive next to each other. */
export function spendAll(ledger: Storage['ledger'], spends: readonly Spend[]): Promise<readonly SpendOutcome[]> {
  return Promise.all(spends.map((spend) => ledger.spend(spend)));
}
