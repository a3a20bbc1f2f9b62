import type { NewReservation } from '../../../src/core/reservation.ts';
import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import type { AccountState, RefillSchedule } from '../../../src/core/account.ts';
import type { AccountChange } from '../../../src/core/accountChange.ts';
import { BLANK_API } from '../../../src/model/apis.ts';
import { BLANK_IDENTITY } from '../../../src/model/identities.ts';
import { BLANK_KEY } from '../../../src/model/keys.ts';
import type { PermissionRecord, RoleRecord, RootKeyRecord } from '../../../src/model/access.ts';
import type { ApiRecord } from '../../../src/model/apis.ts';
import type { IdentityRecord } from '../../../src/model/identities.ts';
import type { KeyRecord } from '../../../src/model/keys.ts';
import type { NamespaceRecord, OverrideRecord } from '../../../src/model/overrides.ts';
import type { PlanRecord } from '../../../src/model/plans.ts';
import type { IdempotencyKey, Charge, Spend, SpendOutcome } from '../../../src/core/spend.ts';
import type { VerificationCount } from '../../../src/core/verificationCounts.ts';
import type { Change, ChangeOutcome, Storage } from '../../../src/storage/port/storage.ts';
import type { AccountLine } from '../../../src/storage/port/credits.ts';
import type { AuditEntry } from '../../../src/storage/port/auditEntries.ts';
import type { KeyQuery, KeyWithIdentity } from '../../../src/storage/port/records.ts';
import type { RecordWrite } from '../../../src/storage/port/writes.ts';

/** Records and requests as the engine makes them; a test names only what it is about. */

export function api(id: string, fields: Partial<ApiRecord> = {}): ApiRecord {
  return { ...BLANK_API, id, name: `name of ${id}`, createdAtMs: 1_000, ...fields };
}

export function identity(id: string, externalId: string, fields: Partial<IdentityRecord> = {}): IdentityRecord {
  return { ...BLANK_IDENTITY, id, externalId, createdAtMs: 2_000, ...fields };
}

/** A reservation of 1 credit by key_1 for a minute, but for these fields. */
export function newReservation(id: string, fields: Partial<NewReservation> = {}): NewReservation {
  return {
    id,
    keyId: 'key_1',
    apiId: 'api_1',
    identityId: null,
    cost: 1,
    ttlMs: 60_000,
    onExpiry: 'release',
    idempotency: null,
    counted: { tags: null, identityId: null },
    metered: [],
    following: [],
    isOnlyFound: false,
    ...fields,
  };
}

export function plan(id: string, name: string, fields: Partial<PlanRecord> = {}): PlanRecord {
  const none = {
    meta: null,
    remaining: null,
    metered: false,
    limits: [],
    roleIds: [],
    permissionIds: [],
    maxKeys: null,
    alerts: null,
  };
  const times = { createdAtMs: 9_000, updatedAtMs: null, revision: 1 };
  return { id, name, ...none, refills: [{ fromMs: 9_000, rule: null }], ...times, ...fields };
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

/** A key as it is found that has no identity, roles or permissions, by its present secret. */
export function found(record: KeyRecord, fields: Partial<KeyWithIdentity> = {}): KeyWithIdentity {
  return { key: record, identity: null, permissions: null, secretUntilMs: null, ...fields };
}

/** All keys of the api that samples are in. */
export const EVERY_KEY: KeyQuery = { apiId: 'api_1', externalId: null, search: null, limit: 100, after: null };

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

/** A permission that is named as its slug is. */
export function permission(id: string, slug: string, fields: Partial<PermissionRecord> = {}): PermissionRecord {
  return { id, name: slug, slug, description: null, createdAtMs: 5_000, ...fields };
}

export function role(id: string, name: string, fields: Partial<RoleRecord> = {}): RoleRecord {
  return { id, name, description: null, permissionIds: [], createdAtMs: 6_000, revision: 1, ...fields };
}

export function namespace(id: string, name: string): NamespaceRecord {
  return { id, name, patternsRevision: 0, createdAtMs: 7_000 };
}

export function override(id: string, identifier: string, fields: Partial<OverrideRecord> = {}): OverrideRecord {
  const numbers = { limit: 10, durationMs: 60_000, async: false, createdAtMs: 8_000, updatedAtMs: null, revision: 0 };
  return { id, namespaceId: 'ns_1', identifier, ...numbers, ...fields };
}

export function entry(action: string, fields: Partial<AuditEntry> = {}): AuditEntry {
  const blank = { actor: 'rk_1', target: 'api_1', before: null, after: null, origin: null, requestId: null, via: null };
  return { ...blank, action, ...fields };
}

export function write(storage: Storage, ...writes: readonly RecordWrite[]): Promise<ChangeOutcome> {
  return storage.ledger.apply({ writes, accounts: [] });
}

/** A removal of a sample key for good. */
export function removal(id: string, expect: number): RecordWrite {
  return { kind: 'removeKey', key: { id, apiId: 'api_1' }, expect, digests: [`digest of ${id}`] };
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

export function credits(account: number, amount: number, refill: RefillSchedule | null = null, revision = 1): Charge {
  return { account, amount, rule: { kind: 'credits', refill }, revision };
}

/** A charge of a window of one minute unless told otherwise. */
export function strict(account: number, amount: number, limit: number, durationMs = 60_000, revision = 1): Charge {
  return { account, amount, rule: { kind: 'window', limit, durationMs }, revision };
}

export function spendOf(...charges: readonly Charge[]): Spend {
  return { charges, fences: [], idempotency: null };
}

export function idempotency(id: string, requestDigest = 'request', scope = 'key_1'): IdempotencyKey {
  return { scope, id, requestDigest };
}

const DAY_MS = 86_400_000;

/** A daily refill as it is planned at `nowMs`, from the day before unless told otherwise. */
export function dailyPlan(
  nowMs: number,
  amount: number,
  fields: { mode?: 'restore' | 'add'; max?: number | null; fromMs?: number } = {},
): RefillSchedule {
  const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const { mode = 'restore', max = null, fromMs = startMs - DAY_MS } = fields;
  const times = Math.max(0, Math.ceil((startMs - fromMs) / DAY_MS));
  return { startMs, nextMs: startMs + DAY_MS, fromMs, steps: [{ mode, amount, max, times }] };
}

export async function balanceOf(storage: Storage, account: number): Promise<number | undefined> {
  const [state] = await storage.ledger.read([account]);
  return state?.value;
}

export async function stateOf(storage: Storage, account: number): Promise<AccountState | undefined> {
  return (await storage.ledger.read([account]))[0];
}

/** The stored lines of accounts, by account and beginning. */
export async function linesOf(storage: Storage, accounts: readonly number[]): Promise<readonly AccountLine[]> {
  const spans = accounts.map((account) => ({ account, fromMs: 0 }));
  const lines = await storage.statements.lines({ spans, untilMs: null, after: null, limit: 1_000_000 });
  return lines.toSorted((a, b) => a.account - b.account || a.line.startMs - b.line.startMs);
}

/** Several at once, in this order: they arrive next to each other. */
export function spendAll(ledger: Storage['ledger'], spends: readonly Spend[]): Promise<readonly SpendOutcome[]> {
  return Promise.all(spends.map((spend) => ledger.spend(spend)));
}

/** Counts in the order of VERDICT_CODES, the rest zero. */
export function verdictCounts(...first: readonly number[]): number[] {
  return VERDICT_CODES.map((_, i) => first[i] ?? 0);
}

/** One valid verification of key_1 in the first minute of a day. */
export function verificationCount(fields: Partial<VerificationCount> = {}): VerificationCount {
  const minuteMs = fields.minuteMs ?? Date.parse('2026-03-15T00:00:00Z');
  const blank = { apiId: 'api_1', keyId: 'key_1', identityId: '', tags: '', lastAtMs: minuteMs };
  return { ...blank, counts: verdictCounts(1), credits: 0, ...fields, minuteMs };
}
