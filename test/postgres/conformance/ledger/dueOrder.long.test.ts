import { expect, test } from 'bun:test';

import { METERED_ZERO } from '../../../../src/core/accountBook.ts';
import { AppError } from '../../../../src/core/errors.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { HolderReference } from '../../../../src/engine/admin/plans.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { VirtualClock } from '../../../support/clock.ts';
import { timesAsMany } from '../../../support/runs.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, verify } from '../events/toldEvents.ts';
import {
  CreditModel,
  HOUR_MS,
  type ModelHolder,
  type ModelReservation,
  type Rule,
} from '../../../../tools/sim/creditModel.ts';

/** Customers whose calls are made at the same time. */
const CASES = 40;
/** Of one world. A failure is found again with the seed of its world alone. */
const STEPS = 3_000;
const DAY_MS = 24 * HOUR_MS;
const FIRST_SEED = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const SEEDS = Array.from({ length: timesAsMany(1) }, (_, i) => FIRST_SEED + i);

/** Mulberry32. */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Key {
  readonly id: string;
  secret: string;
  readonly holder: ModelHolder;
  isDeleted: boolean;
}

/** A key by itself, or an identity with two keys. */
interface Case {
  readonly apiId: string;
  readonly identity: { readonly externalId: string; readonly id: string; readonly holder: ModelHolder } | null;
  readonly keys: Key[];
  readonly reservations: string[];
}

const RULES: readonly (Rule | null)[] = [
  null,
  { everyMs: DAY_MS, mode: 'restore', amount: 20, max: null },
  { everyMs: DAY_MS, mode: 'restore', amount: 10, max: null },
  { everyMs: HOUR_MS, mode: 'restore', amount: 12, max: null },
  { everyMs: DAY_MS, mode: 'add', amount: 7, max: 30 },
  { everyMs: HOUR_MS, mode: 'add', amount: 3, max: 25 },
];

function toInput(rule: Rule | null) {
  if (rule === null) return null;
  const interval = rule.everyMs === DAY_MS ? ('daily' as const) : ('hourly' as const);
  const { amount, mode, max } = rule;
  return { interval, amount, mode, max, refillDay: null, refillWeekday: null, timezone: null };
}

/** Plays calls on the product and on the model, and compares every answer. */
class World {
  readonly #storage: Storage;
  readonly #engine: Engine;
  readonly #clock: VirtualClock;
  readonly #model: CreditModel;
  readonly #random: () => number;
  readonly #plans: string[] = [];
  readonly #cases: Case[] = [];
  readonly #ended: ModelHolder[] = [];
  #names = 0;
  steps = 0;
  /** What was played last on each customer, to be read when something does not hold. */
  readonly #log = new Map<Case, string[]>();

  constructor(storage: Storage, clock: VirtualClock, random: () => number) {
    this.#storage = storage;
    this.#engine = engineOn(storage);
    this.#clock = clock;
    this.#model = new CreditModel(clock.nowMs());
    this.#random = random;
  }

  async start(): Promise<void> {
    for (const [remaining, rule] of [
      [30, RULES[1]],
      [15, RULES[5]],
      [50, null],
      [null, RULES[2]],
    ] as const) {
      const refill = remaining === null ? {} : { refill: toInput(rule ?? null) };
      const id = await this.#engine.plans.create(ACTOR, `plan ${++this.#names}`, { remaining, ...refill });
      this.#plans.push(id);
      const inForce = remaining === null ? null : (rule ?? null);
      this.#model.plans.set(id, { remaining, versions: [{ fromMs: 0, rule: inForce }] });
    }
    for (let i = 0; i < CASES; i++) this.#cases.push(await this.#makeCase());
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  async #makeCase(): Promise<Case> {
    const { id: apiId } = await this.#engine.apis.create(ACTOR, `api ${++this.#names}`);
    const isAlone = this.#below(2) === 0;
    const identity = isAlone ? null : await this.#makeIdentity();
    const made: Case = { apiId, identity, keys: [], reservations: [] };
    await this.#makeKey(made);
    if (!isAlone) await this.#makeKey(made);
    return made;
  }

  async #makeIdentity(): Promise<NonNullable<Case['identity']>> {
    const externalId = `customer ${++this.#names}`;
    const holder = this.#model.add(externalId);
    const counter = this.#newCounter(holder);
    const id = await this.#engine.identities.create(ACTOR, externalId, counter);
    return { externalId, id, holder };
  }

  async #makeKey({ apiId, identity, keys }: Case): Promise<void> {
    const holder = this.#model.add(`key ${++this.#names}`);
    const counter = identity === null || this.#below(2) === 0 ? this.#newCounter(holder) : {};
    const owner = identity === null ? {} : { externalId: identity.externalId };
    const fields = { apiId, prefix: null, byteLength: null, ...owner, ...counter };
    const { keyId, secret } = await this.#engine.keys.create(ACTOR, fields);
    keys.push({ id: keyId, secret, holder, isDeleted: false });
  }

  /** None is that of a plan, as soon as it is assigned. */
  #newCounter(holder: ModelHolder) {
    if (this.#below(2) === 0) return {};
    if (this.#below(8) === 0) {
      this.#model.open(holder, 0, { isMetered: true });
      return { metered: true };
    }
    const [remaining, rule] = [this.#below(40), this.#pick(RULES)];
    this.#model.open(holder, remaining);
    if (rule !== null) this.#model.setRule(holder, rule);
    return { remaining, ...(rule === null ? {} : { refill: toInput(rule) }) };
  }

  /** Calls of many customers at the same instant, then time goes on. */
  async round(): Promise<void> {
    const playing = this.#cases.filter(() => this.#below(3) > 0);
    // All that is random is drawn before anything is asked: the order of answers does not matter.
    const acts = playing.map((each) => this.#draw(each));
    await Promise.all(acts.map((act) => act()));
    for (const [i, each] of this.#cases.entries()) if (this.#isGone(each)) this.#cases[i] = await this.#makeCase();
    if (this.#below(5) === 0) await this.#changePlan();
    if (this.#below(12) === 0) await this.sweep();
    const jumps = [1, 999, 1_000, 20_000, HOUR_MS / 3, HOUR_MS / 3, HOUR_MS, 5 * HOUR_MS, DAY_MS, 3 * DAY_MS];
    if (this.#below(3) > 0) this.#clock.advance(this.#pick(jumps.slice(0, this.#below(10) === 0 ? 10 : 8)));
    // Often exactly the instant of a boundary.
    if (this.#below(10) === 0) this.#clock.set(Math.ceil(this.#clock.nowMs() / HOUR_MS) * HOUR_MS);
    this.#model.advance(this.#clock.nowMs());
  }

  #isGone({ keys }: Case): boolean {
    return keys.length === 0;
  }

  #draw(of: Case): () => Promise<void> {
    this.steps++;
    const acts = [
      () => this.#verifies(of),
      () => this.#verifies(of),
      () => this.#reserves(of),
      () => this.#reserves(of),
      () => this.#settles(of),
      () => this.#settles(of),
      () => this.#releases(of),
      () => this.#looksAt(of),
      () => this.#shows(of),
      () => this.#grants(of),
      () => this.#adjusts(of),
      () => this.#sets(of),
      () => this.#counts(of),
      () => this.#touches(of),
      () => this.#rules(of),
      () => this.#assigns(of),
      () => this.#assigns(of),
      () => this.#deletes(of),
    ];
    return this.#pick(acts)();
  }

  #compare(of: Case, what: string, answered: unknown, expected: unknown): void {
    const log = this.#log.get(of) ?? [];
    this.#log.set(of, log);
    log.push(`${this.#clock.nowMs()} ${what} ${JSON.stringify(expected)}`);
    if (log.length > 40) log.shift();
    if (JSON.stringify(answered) === JSON.stringify(expected)) return;
    throw new Error(`${JSON.stringify(answered)} instead of the last one of:\n${log.join('\n')}`);
  }

  #keyOf({ keys }: Case): Key {
    return this.#pick(keys);
  }

  #holdersOf(of: Case, { holder }: Key): ModelHolder[] {
    return of.identity === null ? [holder] : [holder, of.identity.holder];
  }

  /** Of one counter alone: with two, the smaller one is shown. */
  #shownOf(holders: readonly ModelHolder[]): number | null {
    const balances = holders.flatMap(({ account }) =>
      account === null || account.isMetered ? [] : this.#model.value(account),
    );
    return balances.length === 0 ? null : Math.min(...balances);
  }

  #verifies(of: Case): () => Promise<void> {
    const [key, cost] = [this.#keyOf(of), this.#below(7)];
    const holders = this.#holdersOf(of, key);
    const isValid = !key.isDeleted && this.#model.spend(holders, cost);
    const code = key.isDeleted ? 'NOT_FOUND' : isValid ? 'VALID' : 'USAGE_EXCEEDED';
    const remaining = key.isDeleted ? null : this.#shownOf(holders);
    return async () => {
      const verdict = await verify(this.#engine, key.secret, { creditCost: cost });
      this.#compare(of, `verify ${key.id} for ${cost}`, [verdict.code, verdict.remaining], [code, remaining]);
    };
  }

  #reserves(of: Case): () => Promise<void> {
    const [key, cost] = [this.#keyOf(of), 1 + this.#below(9)];
    const ttlMs = this.#pick([1_000, 1_000, 20_000, HOUR_MS / 3, HOUR_MS, 7 * HOUR_MS]);
    const onExpiry = this.#pick(['release', 'charge'] as const);
    const terms = this.#engine.reservations.terms(ttlMs, onExpiry);
    const holders = this.#holdersOf(of, key);
    const expiresAtMs = this.#clock.nowMs() + ttlMs;
    const isValid = !key.isDeleted && this.#model.reserve(terms.id, holders, { cost, expiresAtMs, onExpiry });
    if (isValid) of.reservations.push(terms.id);
    if (of.reservations.length > 8) of.reservations.shift();
    const code = key.isDeleted ? 'NOT_FOUND' : isValid ? 'VALID' : 'USAGE_EXCEEDED';
    return async () => {
      const verdict = await verify(this.#engine, key.secret, { creditCost: cost, reservation: terms });
      this.#compare(of, `reserve ${terms.id} ${cost} for ${ttlMs} ${onExpiry} on ${key.id}`, verdict.code, code);
    };
  }

  #settles(of: Case): () => Promise<void> {
    if (of.reservations.length === 0) return this.#verifies(of);
    const [id, cost, allowOverage] = [this.#pick(of.reservations), this.#below(14), this.#below(2) === 0];
    const outcome = this.#model.settle(id, cost, allowOverage);
    const ended = this.#model.reservations.get(id);
    const isSame = outcome === 'ended' && ended?.settledCost === cost;
    const expected =
      outcome === 'done' || isSame
        ? [ended?.charged, ended?.returned, ...(isSame ? [] : [this.#leastOf(ended)])]
        : outcome === 'ended'
          ? 'CONFLICT'
          : 'PRECONDITION_FAILED';
    return async () => {
      const settled = this.#engine.reservations.settle(ACTOR, id, cost, allowOverage);
      const answer = await orCode(
        settled.then(({ charged, returned, remaining }) => [charged, returned, ...(isSame ? [] : [remaining])]),
      );
      this.#compare(of, `settle ${id} with ${cost}`, answer, expected);
    };
  }

  #releases(of: Case): () => Promise<void> {
    if (of.reservations.length === 0) return this.#reserves(of);
    const id = this.#pick(of.reservations);
    const outcome = this.#model.release(id);
    const { state, returned } = this.#model.reservations.get(id) ?? {};
    const isDone = outcome === 'done';
    const left = isDone ? [this.#leastOf(this.#model.reservations.get(id))] : [];
    const expected = isDone || state === 'released' ? [returned, ...left] : 'CONFLICT';
    return async () => {
      const released = this.#engine.reservations.release(ACTOR, id);
      const answer = released.then((each) => [each.returned, ...(isDone ? [each.remaining] : [])]);
      this.#compare(of, `release ${id}`, await orCode(answer), expected);
    };
  }

  /** The balance that the end of a reservation answers. null = it has held none that is still there. */
  #leastOf(reservation: ModelReservation | undefined): number | null {
    const open = new Set([...this.#model.holders].flatMap(({ account }) => account ?? []));
    const balances = (reservation?.parts ?? []).flatMap(({ account }) =>
      open.has(account) && !account.isMetered ? this.#model.value(account) : [],
    );
    return balances.length === 0 ? null : Math.min(...balances);
  }

  #looksAt(of: Case): () => Promise<void> {
    if (of.reservations.length === 0) return this.#reserves(of);
    const id = this.#pick(of.reservations);
    const { state, charged, returned } = this.#model.reservations.get(id) ?? {};
    const expected = [state, charged, returned];
    return async () => {
      const seen = await this.#engine.reservations.get(ACTOR, id);
      this.#compare(of, `look at ${id}`, [seen.state, seen.charged, seen.returned], expected);
    };
  }

  /** A holder that is not deleted, and how calls name it. */
  #holderOf(of: Case): { holder: ModelHolder; reference: HolderReference; key: Key | null } | null {
    const { identity } = of;
    if (identity !== null && this.#below(2) === 0) {
      return { holder: identity.holder, reference: { externalId: identity.externalId }, key: null };
    }
    const key = this.#keyOf(of);
    return key.isDeleted ? null : { holder: key.holder, reference: { keyId: key.id }, key };
  }

  #stateOf({ account }: ModelHolder): [number | null, number] {
    if (account === null) return [null, 0];
    return [account.isMetered ? null : this.#model.value(account), this.#model.heldOf(account)];
  }

  #shows(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null) return this.#restores(of);
    const expected = this.#stateOf(found.holder);
    const { key, reference } = found;
    return async () => {
      const shown =
        key === null
          ? await this.#engine.identities.get(ACTOR, reference as { externalId: string })
          : await this.#engine.keys.get(ACTOR, key.id);
      this.#compare(of, `show ${found.holder.name}`, [shown.remaining, shown.held], expected);
    };
  }

  #grants(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null || found.holder.account === null || found.holder.account.isMetered) return this.#shows(of);
    const amount = 1 + this.#below(10);
    const inMs = this.#pick([null, 1_000, 30_000, HOUR_MS, 9 * HOUR_MS]);
    const expiresAtMs = inMs === null ? null : this.#clock.nowMs() + inMs;
    const expected = this.#model.grant(found.holder, amount, expiresAtMs);
    const input = { amount, expiresAtMs, reason: 'test', idempotencyId: `grant-${++this.#names}` };
    return async () => {
      const { remaining } = await this.#engine.credits.grant(ACTOR, found.reference, input);
      this.#compare(of, `grant ${amount} until ${expiresAtMs} to ${found.holder.name}`, remaining, expected);
    };
  }

  #adjusts(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null || found.holder.account === null) return this.#shows(of);
    const by = this.#below(30) - 15;
    const { account } = found.holder;
    const balance = this.#model.adjust(found.holder, by);
    const expected = account.isMetered ? account.own : balance;
    return async () => {
      const input = { by, reason: 'test', idempotencyId: null };
      const { remaining } = await this.#engine.credits.adjust(ACTOR, found.reference, input);
      this.#compare(of, `adjust ${found.holder.name} by ${by}`, remaining, expected);
    };
  }

  async #update({ reference, key }: { reference: HolderReference; key: Key | null }, patch: object): Promise<void> {
    if (key === null) await this.#engine.identities.update(ACTOR, reference as { externalId: string }, patch);
    else await this.#engine.keys.update(ACTOR, key.id, patch);
  }

  /** Sets a balance, ends a counter, begins to meter or ends that. */
  #sets(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null) return this.#restores(of);
    const { holder } = found;
    // A number makes it a counter of the holder's own. Most are to be those of a plan.
    if ((holder.account?.ofPlan ?? true) && this.#below(6) > 0) return this.#assigns(of);
    const planHas = holder.planId !== null && this.#model.plans.get(holder.planId)?.remaining !== null;
    const how = this.#below(6);
    let patch: object = { remaining: this.#below(30) };
    if (how === 0 && !planHas && holder.account?.isMetered !== true) {
      patch = { remaining: null };
      this.#model.close(holder);
    } else if (how === 1 && !planHas && holder.account?.isMetered !== true) {
      patch = { metered: true };
      this.#model.close(holder);
      this.#model.open(holder, 0, { isMetered: true });
    } else {
      if (holder.account?.isMetered) this.#model.close(holder);
      this.#model.set(holder, (patch as { remaining: number }).remaining);
    }
    const expected = this.#stateOf(holder);
    return async () => {
      await this.#update(found, patch);
      await this.#expectState(of, `update ${holder.name} ${JSON.stringify(patch)}`, found, expected);
    };
  }

  /** Sometimes nobody looks at once: what was answered has to hold when somebody looks later. */
  async #expectState(
    of: Case,
    what: string,
    { reference, key }: { reference: HolderReference; key: Key | null },
    expected: [number | null, number],
  ): Promise<void> {
    const isSeen = key === null || !key.isDeleted;
    const shown = !isSeen
      ? null
      : key === null
        ? await this.#engine.identities.get(ACTOR, reference as { externalId: string })
        : await this.#engine.keys.get(ACTOR, key.id);
    this.#compare(of, what, shown === null ? expected : [shown.remaining, shown.held], expected);
  }

  /** keys.updateRemaining. */
  #counts(of: Case): () => Promise<void> {
    const key = this.#keyOf(of);
    const { account } = key.holder;
    if (key.isDeleted || account === null || account.isMetered) return this.#sets(of);
    const ops = ['increment', 'decrement', ...(account.ofPlan ? [] : ['set' as const])] as const;
    const [op, value] = [this.#pick(ops), this.#below(20)];
    const current = this.#model.value(account);
    const isOfPlan = account.ofPlan;
    if (op === 'set') this.#model.set(key.holder, value);
    else this.#model.adjust(key.holder, op === 'increment' ? value : -value);
    if (op !== 'set') account.ofPlan = isOfPlan;
    const expected = op === 'set' ? value : Math.max(0, op === 'increment' ? current + value : current - value);
    return async () => {
      const answer = await this.#engine.keys.updateRemaining(ACTOR, key.id, { op, value });
      this.#compare(of, `updateRemaining ${key.holder.name} ${op} ${value}`, answer, expected);
    };
  }

  /** Changes that do not name credits. */
  #touches(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null) return this.#restores(of);
    const { key, holder } = found;
    const how = this.#below(3);
    const name = `name ${++this.#names}`;
    const expected = this.#stateOf(holder);
    return async () => {
      if (key !== null && how === 0) key.secret = await this.#engine.rotateKey.rotate(ACTOR, key.id, 0);
      else if (key !== null && how === 1) {
        const references = [{ name, create: true }] as never;
        await this.#engine.keyGrants.set(ACTOR, { kind: 'roles', keyId: key.id, references }).catch(() => []);
      } else await this.#update(found, { name });
      await this.#expectState(of, `touch ${holder.name} ${how}`, found, expected);
    };
  }

  #rules(of: Case): () => Promise<void> {
    const found = this.#holderOf(of);
    if (found === null || found.holder.account === null || found.holder.account.isMetered) return this.#shows(of);
    const rule = this.#pick(RULES);
    const { holder } = found;
    this.#model.setRule(holder, rule);
    const expected = this.#stateOf(holder);
    return async () => {
      await this.#update(found, { refill: toInput(rule) });
      await this.#expectState(of, `refill ${holder.name} ${JSON.stringify(rule)}`, found, expected);
    };
  }

  #assigns(of: Case): () => Promise<void> {
    const { identity, keys } = of;
    const [key] = keys;
    if (identity === null && (key === undefined || key.isDeleted)) return this.#restores(of);
    const holder = identity?.holder ?? (key as Key).holder;
    const reference = identity === null ? { keyId: (key as Key).id } : { externalId: identity.externalId };
    const planId = this.#pick([null, ...this.#plans]);
    const balance = this.#pick(['keep', 'upgrade', 'reset'] as const);
    const [isLater, force] = [this.#below(2) === 0, this.#below(2) === 0];
    const atMs = this.#model.nextRefillMs(holder);
    const isSame = planId === holder.planId && !force;
    if (isSame) holder.move = null;
    else if (!isLater) this.#model.assign(holder, planId, balance);
    else if (atMs !== null) holder.move = { planId, atMs, balance };
    const expected = !isSame && isLater && atMs === null ? 'PRECONDITION_FAILED' : null;
    const state = this.#stateOf(holder);
    const when = isLater ? 'nextRefill' : 'now';
    const found = { reference, key: identity === null ? (key ?? null) : null };
    return async () => {
      const assigned = this.#engine.assignPlan.assign(ACTOR, { holder: reference, planId, when, balance, force });
      const what = `assign ${holder.name} ${planId} ${when} ${balance} ${force}`;
      this.#compare(of, what, await orCode(assigned.then(() => null)), expected);
      await this.#expectState(of, what, found, state);
    };
  }

  /** A rule of a plan is for all its holders, so nothing else happens meanwhile. Two changes at one instant would be one. */
  async #changePlan(): Promise<void> {
    const [planId, rule] = [this.#pick(this.#plans), this.#pick(RULES)];
    const plan = this.#model.plans.get(planId);
    if (plan === undefined || plan.remaining === null || plan.versions.at(-1)?.fromMs === this.#clock.nowMs()) return;
    await this.#engine.plans.update(ACTOR, planId, { refill: toInput(rule) });
    const isSame = JSON.stringify(plan.versions.at(-1)?.rule) === JSON.stringify(rule);
    if (!isSame) plan.versions.push({ fromMs: this.#clock.nowMs(), rule });
  }

  #restores(of: Case): () => Promise<void> {
    const key = of.keys.find(({ isDeleted }) => isDeleted);
    if (key === undefined) return this.#verifies(of);
    key.isDeleted = false;
    const expected = this.#stateOf(key.holder);
    return async () => {
      await this.#engine.deleteKey.restore(ACTOR, key.id);
      await this.#expectState(of, `restore ${key.id}`, { reference: { keyId: key.id }, key }, expected);
    };
  }

  #deletes(of: Case): () => Promise<void> {
    const how = this.#below(8);
    const key = this.#keyOf(of);
    if (how < 4) {
      if (key.isDeleted) return this.#restores(of);
      key.isDeleted = true;
      return async () => this.#engine.deleteKey.delete(ACTOR, key.id, false);
    }
    if (how < 6) {
      of.keys.splice(of.keys.indexOf(key), 1);
      this.#gone(key.holder);
      if (of.keys.length === 0 && of.identity !== null) this.#gone(of.identity.holder);
      return async () => {
        await this.#engine.deleteKey.delete(ACTOR, key.id, true);
        if (of.keys.length === 0 && of.identity !== null) await this.#deleteIdentity(of.identity.id);
      };
    }
    if (how === 6) {
      // A key that was deleted before keeps its row, and its counter.
      for (const each of of.keys) if (!each.isDeleted) this.#gone(each.holder);
      if (of.identity !== null) this.#gone(of.identity.holder);
      of.keys.length = 0;
      return async () => {
        await this.#engine.apis.deleteKeys(ACTOR, of.apiId, true);
        if (of.identity !== null) await this.#deleteIdentity(of.identity.id);
      };
    }
    if (of.keys.some(({ isDeleted }) => isDeleted)) return this.#restores(of);
    for (const each of of.keys) each.isDeleted = true;
    return async () => void (await this.#engine.apis.deleteKeys(ACTOR, of.apiId, false));
  }

  async #deleteIdentity(id: string): Promise<void> {
    await this.#engine.deleteIdentity.delete(ACTOR, { id }, null);
  }

  #gone(holder: ModelHolder): void {
    this.#model.close(holder);
    this.#model.holders.delete(holder);
    this.#ended.push(holder);
  }

  /** After the sweep, the tables say the same as every answer before. */
  async sweep(): Promise<void> {
    await this.#engine.dueCredits.endExpired();
    await this.#engine.dueCredits.sweep();
    await this.#compareAll();
  }

  async #compareAll(): Promise<void> {
    for (const of of this.#cases) {
      for (const { holder, id, isDeleted } of [
        ...of.keys,
        ...(of.identity === null ? [] : [{ ...of.identity, isDeleted: false }]),
      ]) {
        await this.#compareTables(of, holder, id, isDeleted);
      }
    }
  }

  async #compareTables(of: Case, holder: ModelHolder, id: string, isDeleted: boolean): Promise<void> {
    const { records, ledger } = this.#storage;
    const found = id.startsWith('key_') ? await records.findAnyKey(id) : await records.findIdentityById(id);
    const record = found === null || 'poisoned' in found ? null : 'key' in found ? found.key : found;
    const credits = record?.credits ?? null;
    const [state] = credits === null ? [] : await ledger.read([credits.account]);
    const { account } = holder;
    // Nothing refills a deleted key before somebody restores it. The sweep does not hear of new rules of a plan: readers know them.
    const isIdle = isDeleted || (holder.planId !== null && holder.rule === null);
    if (!isDeleted) {
      const shown = id.startsWith('key_')
        ? await this.#engine.keys.get(ACTOR, id)
        : await this.#engine.identities.get(ACTOR, { id });
      this.#compare(of, `sight of ${holder.name}`, [shown.remaining, shown.held], this.#stateOf(holder));
    }
    if (!isIdle) {
      const stored =
        state === undefined ? null : [state.value - (account?.isMetered ? METERED_ZERO : 0), state.pockets?.held ?? 0];
      const expected = account === null ? null : [this.#model.value(account), this.#model.heldOf(account)];
      this.#compare(of, `table of ${holder.name}`, stored, expected);
    }
    const query = { per: 'day' as const, startMs: null, endMs: null, limit: 1_000, cursor: null };
    const subject = id.startsWith('key_') ? { keyId: id } : { identity: { id } };
    const { rows } = await this.#engine.usage.getStatement(ACTOR, subject, query);
    let before = 0;
    let spent = 0;
    for (const { row } of rows) {
      const { opening, granted, refilled, adjusted, expired, closing } = row;
      this.#compare(
        of,
        `row of ${holder.name}`,
        [opening, closing],
        [before, opening + granted + refilled + adjusted - row.spent - expired],
      );
      before = closing;
      spent += row.spent;
    }
    this.#compare(of, `spent by ${holder.name}`, spent, holder.spent + (account?.spent ?? 0));
  }

  /** Every reservation that expired was told once, with what was charged for it. */
  async compareEvents(): Promise<void> {
    const told = new Map<string, number[]>();
    for (let after = 0; ;) {
      const page = await this.#storage.events.list({ after, types: ['reservation.expired'], limit: 1_000 });
      for (const { data } of page) {
        const { reservationId, charged } = JSON.parse(data) as { reservationId: string; charged: number };
        told.set(reservationId, [...(told.get(reservationId) ?? []), charged]);
      }
      if (page.length < 1_000) break;
      after = page.at(-1)?.sequence ?? 0;
    }
    const expired = [...this.#model.reservations.values()].filter(
      ({ state, parts }) => state === 'expired' && parts.length > 0,
    );
    expect(told.size).toBe(expired.length);
    for (const { id, charged } of expired) expect([id, told.get(id)]).toEqual([id, [charged]]);
  }
}

async function orCode<T>(answer: Promise<T>): Promise<T | string> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

describePort('everything that is due', (setup) => {
  test.each(SEEDS)(
    'happens at its instant and in its order, whatever is called first and whoever sweeps (seed %d)',
    async (seed) => {
      const { storage, clock } = setup();
      const world = new World(storage, clock, randomFrom(seed));
      await world.start();
      while (world.steps < STEPS) await world.round();
      await world.sweep();
      await world.compareEvents();
      expect(world.steps).toBeGreaterThanOrEqual(STEPS);
    },
    300_000,
  );
});
