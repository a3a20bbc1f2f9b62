import { AppError } from '../../../src/core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../../src/core/records.ts';
import type { IdentitiesCreateIdentityRequest, IdentitiesUpdateIdentityRequest, Identity } from '../generated/api.ts';
import { balanceOf, changeCounters, type FakeOwner, planOf } from './fakeCounters.ts';
import type { FakeLedger } from './fakeLedger.ts';

/** The owner of keys. Its keys share its credits and its limits. */
export interface FakeIdentity extends FakeOwner {
  readonly externalId: string;
  meta: Readonly<Record<string, unknown>>;
}

type Reference = Pick<IdentitiesUpdateIdentityRequest, 'identityId' | 'externalId'>;

export class FakeIdentities {
  readonly #ledger: FakeLedger;
  readonly #newId: () => string;
  readonly #byExternalId = new Map<string, FakeIdentity>();

  constructor(ledger: FakeLedger, newId: () => string) {
    this.#ledger = ledger;
    this.#newId = newId;
  }

  /** The identity that a key names. A name that is new makes one. */
  named(externalId: string): FakeIdentity {
    const known = this.#byExternalId.get(externalId);
    if (known !== undefined) return known;
    const made: FakeIdentity = { id: this.#newId(), externalId, meta: {}, credits: null, limits: [] };
    this.#byExternalId.set(externalId, made);
    return made;
  }

  /** null: there is none of this id any more. */
  byId(id: string | null): FakeIdentity | null {
    return [...this.#byExternalId.values()].find((identity) => identity.id === id) ?? null;
  }

  create({ externalId, ...fields }: IdentitiesCreateIdentityRequest, nowMs: number): object {
    if (this.#byExternalId.has(externalId))
      throw new AppError('CONFLICT', `An identity with the externalId ${JSON.stringify(externalId)} exists already.`);
    const identity = this.named(externalId);
    this.#set(identity, fields, nowMs);
    return { identityId: identity.id };
  }

  update({ identityId, externalId, ...fields }: IdentitiesUpdateIdentityRequest, nowMs: number): Identity {
    const identity = this.#find({ identityId, externalId });
    this.#set(identity, fields, nowMs);
    return this.#view(identity, nowMs);
  }

  get(reference: Reference, nowMs: number): Identity {
    return this.#view(this.#find(reference), nowMs);
  }

  /** Its keys stay, without an owner. */
  delete(reference: Reference): object {
    this.#byExternalId.delete(this.#find(reference).externalId);
    return {};
  }

  #set(identity: FakeIdentity, fields: Omit<IdentitiesUpdateIdentityRequest, keyof Reference>, nowMs: number): void {
    const { meta, remaining, refill, ratelimits } = fields;
    const limits = ratelimits === undefined ? {} : byName(ratelimits ?? []);
    changeCounters(this.#ledger, identity, { remaining, refill, ...limits }, nowMs);
    if (meta !== undefined) identity.meta = meta ?? {};
  }

  #find({ identityId, externalId }: Reference): FakeIdentity {
    const found = externalId === undefined ? this.byId(identityId ?? '') : this.#byExternalId.get(externalId);
    if (found) return found;
    throw new AppError('NOT_FOUND', `There is no identity ${JSON.stringify(identityId ?? externalId)}.`);
  }

  #view(identity: FakeIdentity, nowMs: number): Identity {
    const { id, externalId, meta, limits, credits } = identity;
    const remaining = balanceOf(this.#ledger, identity, nowMs);
    const rule = credits?.refill ?? null;
    const plan = planOf(rule, nowMs);
    return {
      id,
      externalId,
      meta,
      ratelimits: limits.map(({ name, limit, durationMs, async }) => ({
        name,
        async,
        limit,
        duration: durationMs,
      })),
      ...(remaining === null ? {} : { remaining }),
      ...(rule === null || plan === null
        ? {}
        : {
            refill: {
              interval: rule.interval,
              amount: rule.amount,
              refillDay: rule.refillDay,
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
