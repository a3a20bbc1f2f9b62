import { MAX_COUNT } from '../../../src/core/bounds.ts';
import { AppError } from '../../../src/core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../../src/core/records.ts';
import type {
  IdentitiesCreateIdentityRequest,
  IdentitiesDeleteIdentityRequest,
  IdentitiesUpdateIdentityRequest,
  Identity,
  IdentityDetails,
} from '../generated/api.ts';
import { epochAt } from '../../../src/core/calendar.ts';
import { balanceOf, changeCounters, type FakeOwner } from './fakeCounters.ts';
import type { FakeKey } from './fakeKey.ts';
import type { FakeLedger } from './fakeLedger.ts';
import { limitCharge } from './fakeLimits.ts';

/** The owner of keys. Its keys share its credits and its limits. */
export interface FakeIdentity extends FakeOwner {
  readonly externalId: string;
  name: string | null;
  enabled: boolean;
  maxKeys: number | null;
  meta: Readonly<Record<string, unknown>>;
}

type Reference = Pick<IdentitiesUpdateIdentityRequest, 'identityId' | 'externalId'>;

export class FakeIdentities {
  readonly #ledger: FakeLedger;
  readonly #newId: () => string;
  readonly #keysOf: (identityId: string) => readonly FakeKey[];
  readonly #byExternalId = new Map<string, FakeIdentity>();

  constructor(ledger: FakeLedger, newId: () => string, keysOf: (identityId: string) => readonly FakeKey[]) {
    this.#ledger = ledger;
    this.#newId = newId;
    this.#keysOf = keysOf;
  }

  requireKnown(externalId: string): void {
    if (this.#byExternalId.has(externalId)) return;
    const name = JSON.stringify(externalId);
    throw new AppError(
      'NOT_FOUND',
      `There is no customer with the externalId ${name}. With mustExist, a new key creates none.`,
    );
  }

  /** The key may join the identity of this name. */
  requireSpace(externalId: string, key: FakeKey): void {
    const { id = null, maxKeys = null } = this.#byExternalId.get(externalId) ?? {};
    if (id === null || id === key.identityId) return;
    const count = this.#keysOf(id).length;
    if (count < (maxKeys ?? Infinity)) return;
    const name = JSON.stringify(externalId);
    throw new AppError('PRECONDITION_FAILED', `The customer ${name} has ${count} of at most ${maxKeys} keys.`);
  }

  /** The identity that a key names. A name that is new makes one. */
  named(externalId: string): FakeIdentity {
    const known = this.#byExternalId.get(externalId);
    if (known !== undefined) return known;
    const made: FakeIdentity = {
      id: this.#newId(),
      externalId,
      name: null,
      enabled: true,
      maxKeys: null,
      meta: {},
      credits: null,
      alerts: null,
      limits: [],
    };
    this.#byExternalId.set(externalId, made);
    return made;
  }

  /** null: there is none of this id any more. */
  byId(id: string | null): FakeIdentity | null {
    return [...this.#byExternalId.values()].find((identity) => identity.id === id) ?? null;
  }

  create({ externalId, ...fields }: IdentitiesCreateIdentityRequest, nowMs: number): object {
    if (this.#byExternalId.has(externalId))
      throw new AppError('CONFLICT', `A customer with the externalId ${JSON.stringify(externalId)} exists already.`);
    const identity = this.named(externalId);
    try {
      this.#set(identity, fields, nowMs);
    } catch (failure) {
      this.#byExternalId.delete(externalId);
      throw failure;
    }
    return { identityId: identity.id };
  }

  update({ identityId, externalId, ...fields }: IdentitiesUpdateIdentityRequest, nowMs: number): Identity {
    const identity = this.#find({ identityId, externalId });
    this.#set(identity, fields, nowMs);
    return this.#view(identity, nowMs);
  }

  get(reference: Reference, nowMs: number): IdentityDetails {
    const identity = this.#find(reference);
    const view = this.#view(identity, nowMs);
    const ratelimits = view.ratelimits.map((limit) => {
      // A request can bring a higher limit, so more than the limit can be used.
      const unlimited = { ...limit, limit: MAX_COUNT, durationMs: limit.duration, cost: 0, ownerId: identity.id };
      const { left, resetAtMs } = this.#ledger.look(limitCharge(this.#ledger, unlimited, [identity]), nowMs);
      return { ...limit, used: MAX_COUNT - left, reset: resetAtMs };
    });
    return { ...view, keys: this.#keysOf(identity.id).length, ratelimits };
  }

  /** Answers the keys that are deleted with it. */
  delete({ keys, ...reference }: IdentitiesDeleteIdentityRequest): readonly FakeKey[] {
    const identity = this.#find(reference);
    const owned = this.#keysOf(identity.id);
    if (owned.length > 0 && keys === undefined) {
      const name = JSON.stringify(identity.externalId);
      throw new AppError('CONFLICT', `The customer ${name} has ${owned.length} keys. Say what becomes of them.`);
    }
    if (owned.length > 0 && keys === 'detach' && !identity.enabled) {
      const name = JSON.stringify(identity.externalId);
      throw new AppError('PRECONDITION_FAILED', `The customer ${name} is disabled: its keys would be valid again.`);
    }
    for (const key of owned) {
      key.identityId = null;
      if (keys === 'disable') key.enabled = false;
    }
    this.#byExternalId.delete(identity.externalId);
    return keys === 'delete' ? owned : [];
  }

  #set(identity: FakeIdentity, fields: Omit<IdentitiesUpdateIdentityRequest, keyof Reference>, nowMs: number): void {
    const { name, enabled, maxKeys, meta, remaining, metered, refill, ratelimits, alerts } = fields;
    const limits = ratelimits === undefined ? {} : byName(ratelimits ?? []);
    changeCounters(this.#ledger, identity, { remaining, metered, refill, alerts, ...limits }, nowMs);
    if (name !== undefined) identity.name = name;
    if (enabled !== undefined) identity.enabled = enabled;
    if (maxKeys !== undefined) identity.maxKeys = maxKeys;
    if (meta !== undefined) identity.meta = meta ?? {};
  }

  #find({ identityId, externalId }: Reference): FakeIdentity {
    const found = externalId === undefined ? this.byId(identityId ?? '') : this.#byExternalId.get(externalId);
    if (found) return found;
    throw new AppError('NOT_FOUND', `There is no customer ${JSON.stringify(identityId ?? externalId)}.`);
  }

  #view(identity: FakeIdentity, nowMs: number): Identity {
    const { id, externalId, name, enabled, maxKeys, meta, limits, credits, alerts } = identity;
    const remaining = balanceOf(this.#ledger, identity, nowMs);
    const rule = credits?.refill ?? null;
    const plan = rule === null ? null : epochAt(rule, nowMs);
    return {
      id,
      externalId,
      ...(name === null ? {} : { name }),
      meta,
      enabled,
      ...(maxKeys === null ? {} : { maxKeys }),
      ...(credits?.metered ? { metered: true } : {}),
      ...(alerts === null ? {} : { alerts }),
      ratelimits: limits.map((each) => ({
        name: each.name,
        async: each.async,
        limit: each.limit,
        duration: each.durationMs,
        ...(each.notify === true ? { notify: true } : {}),
        autoApply: each.autoApply !== false,
      })),
      ...(remaining === null ? {} : { remaining }),
      ...(rule === null || plan === null
        ? {}
        : {
            refill: {
              interval: rule.interval,
              amount: rule.amount,
              refillDay: rule.refillDay,
              ...(rule.interval === 'weekly' ? { refillWeekday: rule.refillWeekday ?? 1 } : {}),
              timezone: rule.timezone,
              mode: rule.mode,
              ...(rule.max === null ? {} : { max: rule.max }),
              ...(plan.startMs > rule.sinceMs ? { lastRefillAt: plan.startMs } : {}),
              nextRefillAt: plan.nextMs,
            },
          }),
    };
  }
}

/** An identity has one list, in which `default` is a name like any other. */
function byName(limits: NonNullable<IdentitiesUpdateIdentityRequest['ratelimits']>) {
  const [ratelimit = null] = limits.filter(({ name }) => name === DEFAULT_LIMIT_NAME);
  return { ratelimit, ratelimits: limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME) };
}
