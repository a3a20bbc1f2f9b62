import { MAX_COUNT } from '../../../src/core/bounds.js';
import { AppError } from '../../../src/core/errors.js';
import { DEFAULT_LIMIT_NAME } from '../../../src/core/records.js';
import { epochAt } from '../../../src/core/calendar.js';
import { balanceOf, changeCounters } from './fakeCounters.js';
import { limitCharge } from './fakeLimits.js';
export class FakeIdentities {
  #ledger;
  #newId;
  #keysOf;
  #byExternalId = new Map();
  constructor(ledger, newId, keysOf) {
    this.#ledger = ledger;
    this.#newId = newId;
    this.#keysOf = keysOf;
  }
  /** The key may join the identity of this name. */
  requireSpace(externalId, key) {
    const { id = null, maxKeys = null } = this.#byExternalId.get(externalId) ?? {};
    if (id === null || id === key.identityId) return;
    const count = this.#keysOf(id).length;
    if (count < (maxKeys ?? Infinity)) return;
    const name = JSON.stringify(externalId);
    throw new AppError('PRECONDITION_FAILED', `The identity ${name} has ${count} of at most ${maxKeys} keys.`);
  }
  /** The identity that a key names. A name that is new makes one. */
  named(externalId) {
    const known = this.#byExternalId.get(externalId);
    if (known !== undefined) return known;
    const made = {
      id: this.#newId(),
      externalId,
      name: null,
      enabled: true,
      maxKeys: null,
      meta: {},
      credits: null,
      limits: [],
    };
    this.#byExternalId.set(externalId, made);
    return made;
  }
  /** null: there is none of this id any more. */
  byId(id) {
    return [...this.#byExternalId.values()].find((identity) => identity.id === id) ?? null;
  }
  create({ externalId, ...fields }, nowMs) {
    if (this.#byExternalId.has(externalId))
      throw new AppError('CONFLICT', `An identity with the externalId ${JSON.stringify(externalId)} exists already.`);
    const identity = this.named(externalId);
    this.#set(identity, fields, nowMs);
    return { identityId: identity.id };
  }
  update({ identityId, externalId, ...fields }, nowMs) {
    const identity = this.#find({ identityId, externalId });
    this.#set(identity, fields, nowMs);
    return this.#view(identity, nowMs);
  }
  get(reference, nowMs) {
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
  delete({ keys, ...reference }) {
    const identity = this.#find(reference);
    const owned = this.#keysOf(identity.id);
    if (owned.length > 0 && keys === undefined) {
      const name = JSON.stringify(identity.externalId);
      throw new AppError('CONFLICT', `The identity ${name} has ${owned.length} keys. Say what becomes of them.`);
    }
    if (owned.length > 0 && keys === 'detach' && !identity.enabled) {
      const name = JSON.stringify(identity.externalId);
      throw new AppError('PRECONDITION_FAILED', `The identity ${name} is disabled: its keys would be valid again.`);
    }
    for (const key of owned) {
      key.identityId = null;
      if (keys === 'disable') key.enabled = false;
    }
    this.#byExternalId.delete(identity.externalId);
    return keys === 'delete' ? owned : [];
  }
  #set(identity, fields, nowMs) {
    const { name, enabled, maxKeys, meta, remaining, refill, ratelimits } = fields;
    const limits = ratelimits === undefined ? {} : byName(ratelimits ?? []);
    changeCounters(this.#ledger, identity, { remaining, refill, ...limits }, nowMs);
    if (name !== undefined) identity.name = name;
    if (enabled !== undefined) identity.enabled = enabled;
    if (maxKeys !== undefined) identity.maxKeys = maxKeys;
    if (meta !== undefined) identity.meta = meta ?? {};
  }
  #find({ identityId, externalId }) {
    const found = externalId === undefined ? this.byId(identityId ?? '') : this.#byExternalId.get(externalId);
    if (found) return found;
    throw new AppError('NOT_FOUND', `There is no identity ${JSON.stringify(identityId ?? externalId)}.`);
  }
  #view(identity, nowMs) {
    const { id, externalId, name, enabled, maxKeys, meta, limits, credits } = identity;
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
      ratelimits: limits.map((each) => ({
        name: each.name,
        async: each.async,
        limit: each.limit,
        duration: each.durationMs,
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
function byName(limits) {
  const [ratelimit = null] = limits.filter(({ name }) => name === DEFAULT_LIMIT_NAME);
  return { ratelimit, ratelimits: limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME) };
}
