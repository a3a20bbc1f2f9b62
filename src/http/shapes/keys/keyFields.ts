import type { Static } from 'typebox';

import { AppError, type Issue, repeatable } from '../../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../../core/records.ts';
import { isReservedPrefix, OWN_PREFIXES } from '../../../core/secret.ts';
import { KEY_PLAIN, type KeyRecord } from '../../../model/keys.ts';
import { parsePlain } from '../../../model/plain.ts';
import type { KeyPatch } from '../../../engine/admin/keys/keyInput.ts';
import type { RbacReference } from '../../../engine/admin/rbac/rbacNames.ts';
import type { LimitInput, RefillInput } from '../../../core/counterPatch.ts';
import { MAX_ISSUES } from '../../../core/bounds.ts';
import type { AlertsInput } from '../counters/alertFields.ts';
import type { IpAllowlist } from './creationFields.ts';
import type { Refill } from '../counters/creditFields.ts';
import type { NamedRatelimits, SharedRatelimits, Ratelimit } from '../counters/keyLimitFields.ts';

/** The flags of a key's fields, where another word reads better. Its answers have the same labels. */
export const KEY_FLAGS = {
  externalId: 'owner',
  ownerId: null,
  ratelimit: 'limit',
  ratelimits: 'ratelimit',
  ipAllowlist: 'ip',
} as const;

const LIMIT_NOW = 'Write --limit 10/s, or --limit 10/s,strict.';
const REFILL_NOW =
  'Write it behind the amount, as --refill monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000.';

/** Until 0.1, a limit and a refill had a flag for each of their parts. */
export const FORMER_KEY_FLAGS = {
  'external-id': 'Write --owner.',
  duration: LIMIT_NOW,
  async: LIMIT_NOW,
  strict: LIMIT_NOW,
  'refill-interval': REFILL_NOW,
  'refill-amount': REFILL_NOW,
  'refill-day': REFILL_NOW,
  'refill-weekday': REFILL_NOW,
  'refill-timezone': REFILL_NOW,
  'refill-mode': REFILL_NOW,
  'refill-max': REFILL_NOW,
} as const;

/** The fields that createKey and updateKey share, from the wire to the engine. */
export interface KeyFields extends Partial<Record<keyof typeof KEY_PLAIN, unknown>> {
  readonly externalId?: string | null;
  readonly ownerId?: string | null;
  readonly mustExist?: boolean;
  readonly expires?: number | null;
  readonly remaining?: number | null;
  readonly metered?: boolean;
  readonly refill?: Static<typeof Refill> | null;
  readonly ratelimit?: Static<typeof Ratelimit> | null;
  readonly ratelimits?: Static<typeof NamedRatelimits> | null;
  readonly ipAllowlist?: Static<typeof IpAllowlist> | null;
  readonly alerts?: Static<typeof AlertsInput> | null;
  readonly roles?: readonly RbacReference[] | null;
  readonly permissions?: readonly RbacReference[] | null;
}

/** Checks what a schema cannot express, and reports it together with `issues`. An empty text counts as absent. */
export function toKeyPatch(fields: KeyFields, before: readonly Issue[] = []): KeyPatch {
  const issues = [...before];
  const externalId = fields.externalId === undefined ? fields.ownerId : fields.externalId;
  const patch: KeyPatch = {
    ...parsePlain<KeyRecord>(KEY_PLAIN, fields, told(issues)),
    ...(externalId === undefined ? {} : { externalId: externalId || null }),
    ...(externalId && fields.mustExist === true ? { mustExist: true } : {}),
    ...(fields.expires === undefined ? {} : { expiresAtMs: fields.expires }),
    ...(fields.remaining === undefined ? {} : { remaining: fields.remaining }),
    ...(fields.metered === undefined ? {} : { metered: fields.metered }),
    ...(fields.refill === undefined ? {} : { refill: toRefill(fields.refill, issues) }),
    ...(fields.ratelimit === undefined ? {} : { defaultLimit: toDefaultLimit(fields.ratelimit, issues) }),
    ...(fields.ratelimits === undefined ? {} : { otherLimits: toLimits(fields.ratelimits, issues) }),
    ...(fields.ipAllowlist === undefined ? {} : { ipAllowlist: fields.ipAllowlist }),
    ...(fields.alerts === undefined ? {} : { alerts: fields.alerts }),
    ...(fields.roles === undefined ? {} : { roles: checkedReferences(fields.roles, 'roles', issues) }),
    ...(fields.permissions === undefined
      ? {}
      : { permissions: checkedReferences(fields.permissions, 'permissions', issues) }),
  };
  if (issues.length > 0) throw badFields(issues);
  return patch;
}

/** The fields of a new key. An empty externalId counts as absent and does not hide the ownerId. */
export function withoutEmpty({ externalId, ...fields }: KeyFields): KeyFields {
  return externalId ? { ...fields, externalId } : fields;
}

/** Only a digest is stored, so a key cannot be recovered. */
export function refuseRecoverable(recoverable: boolean | undefined): void {
  if (recoverable !== true) return;
  throw new AppError('PRECONDITION_FAILED', 'Secrets are not stored, so a key cannot be made recoverable.');
}

/** Of a prefix for new keys. Keys and apis that have one already keep it. */
export function reservedPrefix(path: string, prefix: string): Issue[] {
  if (!isReservedPrefix(prefix)) return [];
  const own = Object.values(OWN_PREFIXES).join(', ');
  return [
    {
      path,
      message: `${path} must not be one that Keystile's own secrets begin with (${own}), got ${repeatable(prefix)}`,
    },
  ];
}

export function badFields(issues: readonly Issue[]): AppError {
  const shown = issues.slice(0, MAX_ISSUES);
  return new AppError('BAD_REQUEST', shown.map(({ message }) => message).join('; '), shown);
}

/** Adds problems of plain fields to these. */
export function told(issues: Issue[]): (name: string, problem: string) => void {
  return (name, problem) => void issues.push({ path: name, message: `${name} ${problem}` });
}

/** A problem of one item of a list. */
export function placed(item: string, path: string, message: string): Issue {
  return { path: path === '' ? item : `${item}.${path}`, message: `${item}: ${message}` };
}

export function toRefill(refill: Static<typeof Refill> | null, issues: Issue[]): RefillInput | null {
  if (refill === null) return null;
  const { interval, amount, refillDay = null, refillWeekday = null, timezone = null } = refill;
  const { mode = 'restore', max = null } = refill;
  const add = (field: string, message: string): void => void issues.push({ path: `refill.${field}`, message });
  if (interval !== 'monthly' && refillDay !== null)
    add('refillDay', 'refill.refillDay is allowed only with interval "monthly"');
  if (interval !== 'weekly' && refillWeekday !== null)
    add('refillWeekday', 'refill.refillWeekday is allowed only with interval "weekly"');
  if (max !== null && mode !== 'add') add('max', 'refill.max is allowed only with mode "add"');
  return { interval, amount, refillDay, refillWeekday, timezone, mode, max };
}

function toDefaultLimit(ratelimit: Static<typeof Ratelimit> | null, issues: Issue[]): LimitInput | null {
  if (ratelimit === null) return null;
  const limit = ratelimit.limit ?? ratelimit.refillRate;
  const durationMs = ratelimit.duration ?? ratelimit.refillInterval;
  if (limit === undefined) issues.push({ path: 'ratelimit.limit', message: 'ratelimit.limit is missing' });
  if (durationMs === undefined) issues.push({ path: 'ratelimit.duration', message: 'ratelimit.duration is missing' });
  const async = ratelimit.async ?? (ratelimit.type === undefined ? null : ratelimit.type === 'fast');
  const { notify } = ratelimit;
  const numbers = { limit: limit ?? 1, durationMs: durationMs ?? 1000 };
  return { name: DEFAULT_LIMIT_NAME, ...numbers, async, ...(notify === undefined ? {} : { notify }) };
}

function toLimits(limits: Static<typeof NamedRatelimits> | null, issues: Issue[]): LimitInput[] | null {
  if (limits === null) return null;
  for (const [i, { name }] of limits.entries()) {
    if (name !== DEFAULT_LIMIT_NAME) continue;
    issues.push({ path: `ratelimits[${i}].name`, message: 'send the limit "default" as ratelimit, not in ratelimits' });
  }
  return toNamedLimits(limits, issues);
}

export function toNamedLimits(limits: Static<typeof SharedRatelimits>, issues: Issue[]): LimitInput[] {
  for (const [i, { name }] of limits.entries()) {
    if (limits.findIndex((other) => other.name === name) !== i) {
      issues.push({ path: `ratelimits[${i}].name`, message: `the limit ${repeatable(name)} is given twice` });
    }
  }
  return limits.map(({ name, limit, duration, async, autoApply, notify }) => ({
    name,
    limit,
    durationMs: duration,
    async: async ?? null,
    ...(autoApply === undefined ? {} : { autoApply }),
    ...(notify === undefined ? {} : { notify }),
  }));
}

/** Each reference has an id or a name. */
export function checkedReferences(
  list: readonly RbacReference[] | null,
  path: string,
  issues: Issue[],
): readonly RbacReference[] | null {
  for (const [i, { id, name, slug }] of (list ?? []).entries()) {
    if (id === undefined && name === undefined && slug === undefined)
      issues.push({ path: `${path}[${i}]`, message: `${path}[${i}] needs an id or a name` });
  }
  return list;
}
