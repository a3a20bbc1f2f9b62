import type { RefillPlan } from '../../../src/core/account.ts';
import { type AddressBlock, parseBlock } from '../../../src/core/address.ts';
import { epochAt } from '../../../src/core/calendar.ts';
import { type HeldPermissions, holdPermissions } from '../../../src/core/permissions.ts';
import { DEFAULT_LIMIT_NAME, type RefillRule } from '../../../src/core/records.ts';
import type { KeysCreateKeyRequest, KeysUpdateKeyRequest } from '../generated/api.ts';

export interface FakeLimit {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
}

/** A key of the fake service. */
export interface FakeKey {
  readonly keyId: string;
  readonly apiId: string;
  /** The secrets that it can be used with. */
  secrets: string[];
  name: string | undefined;
  externalId: string | undefined;
  meta: Readonly<Record<string, unknown>>;
  environment: string | undefined;
  enabled: boolean;
  expires: number | undefined;
  permissions: readonly string[];
  roles: readonly string[];
  blocks: readonly AddressBlock[];
  hasCredits: boolean;
  refill: RefillRule | null;
  limits: readonly FakeLimit[];
}

type Both = KeysCreateKeyRequest & KeysUpdateKeyRequest;
/** The fields of a creation or a change. */
type Fields = {
  readonly [F in keyof Both]?:
    | KeysCreateKeyRequest[F & keyof KeysCreateKeyRequest]
    | KeysUpdateKeyRequest[F & keyof KeysUpdateKeyRequest];
};

export function newFakeKey(keyId: string, apiId: string, secret: string): FakeKey {
  return {
    keyId,
    apiId,
    secrets: [secret],
    name: undefined,
    externalId: undefined,
    meta: {},
    environment: undefined,
    enabled: true,
    expires: undefined,
    permissions: [],
    roles: [],
    blocks: [],
    hasCredits: false,
    refill: null,
    limits: [],
  };
}

/** Sets the fields that are given; null clears one. Credits are set by the service, which has the balance. */
export function setFields(key: FakeKey, fields: Fields, nowMs: number): void {
  if (fields.name !== undefined) key.name = fields.name ?? undefined;
  const owner = fields.externalId !== undefined ? fields.externalId : fields.ownerId;
  if (owner !== undefined) key.externalId = owner ?? undefined;
  if (fields.meta !== undefined) key.meta = fields.meta ?? {};
  if (fields.environment !== undefined) key.environment = fields.environment ?? undefined;
  if (fields.enabled !== undefined) key.enabled = fields.enabled ?? true;
  if (fields.expires !== undefined) key.expires = fields.expires ?? undefined;
  if (fields.permissions !== undefined) key.permissions = namesOf(fields.permissions);
  if (fields.roles !== undefined) key.roles = namesOf(fields.roles);
  if (fields.ipAllowlist !== undefined)
    key.blocks = (fields.ipAllowlist ?? []).map(parseBlock).filter((block) => block !== null);
  if (fields.refill !== undefined) key.refill = fields.refill === null ? null : refillOf(fields.refill, nowMs);
  key.limits = limitsOf(key.limits, fields);
}

function namesOf(given: readonly (string | { readonly name?: string | undefined })[] | null): string[] {
  return (given ?? []).map((each) => (typeof each === 'string' ? each : (each.name ?? '')));
}

function refillOf(refill: NonNullable<Fields['refill']>, nowMs: number): RefillRule {
  const { interval, amount, refillDay, timezone, mode, max } = refill;
  return {
    interval,
    amount,
    refillDay: refillDay ?? null,
    timezone: timezone ?? 'Etc/UTC',
    mode: mode ?? 'restore',
    max: max ?? null,
    sinceMs: nowMs,
  };
}

/** `ratelimit` sets the limit `default`, `ratelimits` the others. What is absent stays. */
function limitsOf(before: readonly FakeLimit[], { ratelimit, ratelimits }: Fields): FakeLimit[] {
  const isDefault = ({ name }: FakeLimit): boolean => name === DEFAULT_LIMIT_NAME;
  const toLimit = ({ name, limit, duration, async }: GivenLimit): FakeLimit => ({
    name,
    limit: limit ?? 0,
    durationMs: duration ?? 0,
    async: async ?? before.find((each) => each.name === name)?.async ?? true,
  });
  const own =
    ratelimit === undefined
      ? before.filter(isDefault)
      : ratelimit === null
        ? []
        : [toLimit({ ...ratelimit, name: DEFAULT_LIMIT_NAME })];
  const others =
    ratelimits === undefined ? before.filter((limit) => !isDefault(limit)) : (ratelimits ?? []).map(toLimit);
  return [...own, ...others];
}

interface GivenLimit {
  readonly name: string;
  readonly limit?: number | undefined;
  readonly duration?: number | undefined;
  readonly async?: boolean | undefined;
}

export function planOf(rule: RefillRule | null, nowMs: number): RefillPlan | null {
  if (rule === null) return null;
  const { number, startMs, nextMs } = epochAt(rule, nowMs);
  return { epoch: number, startMs, nextMs, amount: rule.amount, mode: rule.mode, max: rule.max };
}

export function heldBy({ permissions }: FakeKey): HeldPermissions {
  return holdPermissions(permissions.map((slug) => ({ slug, permissionId: slug, role: null })));
}
