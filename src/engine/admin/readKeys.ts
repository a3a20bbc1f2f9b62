import { AppError, notFound } from '../../core/errors.ts';
import { idPattern } from '../../core/ids.ts';
import { heldCredits, versionAt } from '../../core/plan.ts';
import { type Grant, lastingOf, leftOf } from '../../core/expiringCredits.ts';
import { DEFAULT_LIMIT_NAME, type HeldCredits, type LimitRecord, type RefillRule } from '../../core/records.ts';
import type { Operation } from '../../core/rights.ts';
import type { AdminContext } from './change/adminContext.ts';
import { readCredits } from './change/counters.ts';
import { type Actor, requireOn } from './change/requireRight.ts';
import { readPlanLimits, readUsedLimits, type UsedLimit } from './usedLimits.ts';
import { plansOf, readMoved } from '../planOf.ts';
import type { RefillSchedules } from '../refillSchedules.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import { KEY_PLAIN, type KeyRecord } from '../../model/keys.ts';
import { auditPlain } from '../../model/plainFields.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { FilteredKeyQuery, FilteredPage, KeyWithIdentity, PoisonedKey } from '../../storage/port/records.ts';
import type { ReadAccount } from '../../storage/port/storage.ts';

const KEY_ID = new RegExp(idPattern('key'));

/** Finds keys that the actor may see. */
export class KeyReader {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** A key that is not deleted and whose record can be read. */
  async load(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity> {
    return readable(await this.find(actor, operation, keyId));
  }

  /** A key that is not deleted, on the plan that it is to have by now. */
  async find(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    const { records } = this.#context.storage;
    const read = async () => visible(actor, operation, keyId, await records.findKey(keyId));
    return readMoved(this.#context, read, (found) => holdersAmong([found]));
  }

  /** A page of keys, on the plans that they are to have by now. */
  list(query: FilteredKeyQuery): Promise<FilteredPage<KeyWithIdentity | PoisonedKey>> {
    const list = () => this.#context.storage.records.listFilteredKeys(query);
    return readMoved(this.#context, list, ({ items }) => holdersAmong(items));
  }

  /** The key whose id was searched for, without other filters; null: search as usual. */
  async searchById({
    apiId,
    externalId,
    search,
    state,
    planId,
  }: Omit<FilteredKeyQuery, 'nowMs'>): Promise<FilteredPage<KeyWithIdentity> | null> {
    if (search === null || !KEY_ID.test(search) || externalId !== null || state !== null || planId !== null)
      return null;
    const found = await this.#context.storage.records.findKey(search);
    if (found === null || 'poisoned' in found || found.key.apiId !== apiId) return null;
    return { items: [found], total: 1, cursor: null };
  }

  /** A key, also a softly deleted one. */
  async findAny(actor: Actor, operation: Operation, keyId: string): Promise<KeyWithIdentity | PoisonedKey> {
    return visible(actor, operation, keyId, await this.#context.storage.records.findAnyKey(keyId));
  }

  /** Digests of former secrets, under which nodes may have cached the key. */
  async formerDigests(keyId: string): Promise<readonly string[]> {
    return (await this.#context.storage.records.listFormerSecrets([keyId])).map(({ digest }) => digest);
  }

  async view(keys: readonly KeyWithIdentity[]): Promise<KeyView[]> {
    const { storage, refills } = this.#context;
    const holders = keys.map(({ key }) => key);
    const [states, uses] = await Promise.all([
      readCredits(this.#context, holders),
      storage.records.readLastUses(holders.map(({ id }) => id)),
    ]);
    const plans = await plansOf(storage.records, holders);
    const nowMs = storage.ledger.nowMs();
    return keys.map((found, i) => {
      const plan = plans.get(found.key.planId ?? '') ?? null;
      return viewKey({ ...found, plan, state: states[i], refills, nowMs, lastUsedAtMs: uses[i] ?? null });
    });
  }

  async details(found: KeyWithIdentity): Promise<KeyDetails> {
    const { storage } = this.#context;
    const { id, limits } = found.key;
    const view = (await this.view([found]))[0] as KeyView;
    const [used, planUsed] = await Promise.all([
      readUsedLimits(storage, id, limits),
      readPlanLimits(storage, id, view.plan),
    ]);
    return { ...view, used, planUsed };
  }
}

function holdersAmong(found: readonly (KeyWithIdentity | PoisonedKey)[]): KeyRecord[] {
  return found.flatMap((each) => ('poisoned' in each ? [] : each.key));
}

function visible<T extends KeyWithIdentity | PoisonedKey>(
  actor: Actor,
  operation: Operation,
  keyId: string,
  found: T | null,
): T {
  // An unknown key has no api. No root key has a right on an empty id.
  const apiId = found === null ? '' : 'poisoned' in found ? found.apiId : found.key.apiId;
  requireOn(actor, operation, apiId, 'key', keyId);
  if (found === null || !isOfCustomer(actor, found)) throw notFound('key', keyId);
  return found;
}

/** An actor that acts for a customer sees only the keys of this one. */
function isOfCustomer({ onlyFor }: Actor, found: KeyWithIdentity | PoisonedKey): boolean {
  return onlyFor === undefined || (!('poisoned' in found) && found.key.identityId === onlyFor);
}

export function readable(found: KeyWithIdentity | PoisonedKey): KeyWithIdentity {
  if (!('poisoned' in found)) return found;
  throw new AppError('INTERNAL_SERVER_ERROR', `The stored key ${found.poisoned} cannot be read: ${found.reason}.`);
}

/** Credits as they are now. */
export interface CreditsView {
  readonly remaining: number | null;
  /** What reservations hold. It is not in `remaining`. */
  readonly held: number;
  /** The part of `remaining` that was granted and expires, soonest first. */
  readonly grants: readonly Grant[];
  /** The part of it that was granted and does not expire. */
  readonly lasting: number;
  /** The last boundary that refilled them; null = none yet. */
  readonly lastRefillAtMs: number | null;
  readonly nextRefillAtMs: number | null;
}

/** A key as a reader sees it: the record and its balance. */
export interface KeyView extends CreditsView, Omit<KeyWithIdentity, 'secretUntilMs'> {
  readonly lastUsedAtMs: number | null;
  /** The plan that the key is on itself; null = none. */
  readonly plan: PlanRecord | null;
}

/** With what was used of its own limits and of those of its plan, each in their order. */
export interface KeyDetails extends KeyView {
  readonly used: readonly UsedLimit[];
  readonly planUsed: readonly UsedLimit[];
}

interface ViewInput extends KeyWithIdentity {
  readonly state: ReadAccount | undefined;
  readonly refills: RefillSchedules;
  readonly nowMs: number;
  readonly lastUsedAtMs: number | null;
  readonly plan: PlanRecord | null;
}

function viewKey({ state, refills, nowMs, secretUntilMs: _secretUntilMs, ...found }: ViewInput): KeyView {
  return { ...found, ...viewCredits(heldCredits(found.key.credits, found.plan), state, refills, nowMs) };
}

export function viewCredits(
  credits: HeldCredits | null,
  state: ReadAccount | undefined,
  refills: RefillSchedules,
  nowMs: number,
): CreditsView {
  const refill = credits?.refill ?? null;
  const balance = viewBalance(credits, state, refills, nowMs);
  const rule = refill === null ? null : versionAt(refill, nowMs).rule;
  if (refill === null || rule === null) return { ...balance, lastRefillAtMs: null, nextRefillAtMs: null };
  const { startMs, nextMs } = refills.epoch(refill, nowMs);
  return { ...balance, lastRefillAtMs: startMs > rule.sinceMs ? startMs : null, nextRefillAtMs: nextMs };
}

function viewBalance(
  credits: HeldCredits | null,
  account: ReadAccount | undefined,
  refills: RefillSchedules,
  nowMs: number,
): Pick<CreditsView, 'remaining' | 'held' | 'grants' | 'lasting'> {
  if (credits === null || account === undefined) return { remaining: null, held: 0, grants: [], lasting: 0 };
  const { state, pockets } = refills.brought(account, credits.refill, nowMs);
  const remaining = credits.metered ? null : state.value;
  if (pockets === null) return { remaining, held: 0, grants: [], lasting: 0 };
  const { held } = pockets;
  return { remaining, held, grants: leftOf(pockets, state.value), lasting: lastingOf(pockets, state.value) };
}

/**
 * A key as the audit log shows it. Fields have the names of the HTTP API; roles and permissions are ids. The secret is left out, and
 * so are balances, which move without a change.
 */
export function auditedKey(key: KeyRecord, identity: IdentityRecord | null): Record<string, unknown> {
  return {
    apiId: key.apiId,
    start: key.start,
    ...auditPlain(KEY_PLAIN, key),
    ownerId: identity?.externalId ?? null,
    expires: key.expiresAtMs,
    ...auditedCounters(key),
    ipAllowlist: key.ipAllowlist,
    alerts: key.alerts,
    roles: key.roleIds,
    permissions: key.permissionIds,
  };
}

/** What a key belongs to, for the event of a change. */
export function idsAround(key: Pick<KeyRecord, 'apiId'>, identity: IdentityRecord | null): Record<string, string> {
  return { apiId: key.apiId, ...(identity === null ? {} : { externalId: identity.externalId }) };
}

/** The rules of the credits and limits. */
export function auditedCounters({ credits, limits }: Pick<KeyRecord, 'credits' | 'limits'>): Record<string, unknown> {
  const main = limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
  const others = limits.filter((limit) => limit !== main);
  return {
    ...(credits?.metered ? { metered: true } : {}),
    refill: credits?.refill == null ? null : auditedRefill(credits.refill),
    ratelimit: main === undefined ? null : auditedLimit(main),
    ratelimits: others.map((limit) => ({ name: limit.name, ...auditedLimit(limit) })),
  };
}

function auditedRefill({ interval, amount, refillDay, refillWeekday, timezone, mode, max }: RefillRule): object {
  const weekday = interval === 'weekly' ? { refillWeekday } : {};
  return { interval, amount, refillDay, ...weekday, timezone, mode, max };
}

function auditedLimit({ limit, durationMs, async, autoApply, notify }: LimitRecord): object {
  const options = { ...(autoApply === false ? { autoApply } : {}), ...(notify ? { notify } : {}) };
  return { limit, duration: durationMs, async, ...options };
}
