import type { Engine } from '../../src/engine/engine.ts';
import type { Verdict } from '../../src/engine/verify/verdict.ts';
import { QUESTION } from '../../test/support/analytics.ts';
import { type CreditModel, HOUR_MS, type ModelHolder, type ModelReservation } from './creditModel.ts';
import { type Effect, type SimNode, STALE_MAX_MS } from './node.ts';
import type { Random } from './time.ts';

export const ACTOR = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };

/** A strict limit, told a second time. */
export class StrictWindow {
  readonly limit: number;
  readonly durationMs: number;
  #endMs = 0;
  #count = 0;
  /** Reservations that count in the window. */
  #reserved: ModelReservation[] = [];

  constructor(limit: number, durationMs: number) {
    this.limit = limit;
    this.durationMs = durationMs;
  }

  turn(nowMs: number): void {
    if (nowMs < this.#endMs) return;
    this.#endMs = (Math.floor(nowMs / this.durationMs) + 1) * this.durationMs;
    this.#count = 0;
    this.#reserved = [];
  }

  /** What counts: a reservation that did not happen gives back its place. One that expired does so when somebody ends it. */
  #used(isExpiredFree: boolean): number {
    const free = this.#reserved.filter(
      ({ state, onExpiry }) => state === 'released' || (isExpiredFree && state === 'expired' && onExpiry === 'release'),
    );
    return this.#count - free.length;
  }

  describe(): string {
    return `${this.limit} in ${this.durationMs} ms: ${this.#count} until ${this.#endMs}`;
  }

  /** One more may be taken, if everything that is due has been done. */
  get mayFit(): boolean {
    return this.#used(true) < this.limit;
  }

  /** One more must be taken, also if not everything that is due has been done. */
  get mustFit(): boolean {
    return this.#used(false) < this.limit;
  }

  take(reservation: ModelReservation | undefined): void {
    this.#count++;
    if (reservation !== undefined) this.#reserved.push(reservation);
  }
}

export interface Key {
  readonly id: string;
  readonly secret: string;
  readonly holder: ModelHolder;
  isDeleted: boolean;
  isEnabled: boolean;
  isGone: boolean;
  /** Since when it may be used, or may not; the newest last. */
  readonly history: { readonly atMs: number; readonly isUsable: boolean }[];
  readonly strict: StrictWindow | null;
  readonly local: { readonly limit: number; readonly durationMs: number } | null;
}

/** A key by itself, or an identity with two keys. */
export interface Case {
  readonly number: number;
  readonly apiId: string;
  readonly identity: {
    readonly externalId: string;
    readonly id: string;
    readonly holder: ModelHolder;
    isEnabled: boolean;
  } | null;
  readonly keys: Key[];
  readonly reservations: string[];
  readonly story: string[];
}

interface Decision {
  readonly cost: number;
  readonly status: string;
  readonly reservationId: string | null;
}

interface Expected {
  readonly codes: readonly string[];
  readonly remaining: number | null;
}

/** A call of a client: what it asks, and what the model says of each effect that it has. */
export interface Call {
  readonly number: number;
  readonly of: Case;
  readonly what: string;
  readonly startMs: number;
  /** Charges and changes that were committed for it. */
  effects: number;
  /** The model's answer to the last effect. */
  expected: unknown;
  readonly affected: (effect: Effect) => { readonly counts: boolean; readonly expected: unknown };
}

export interface Act {
  readonly what: string;
  readonly run: (engine: Engine) => Promise<unknown>;
  readonly affected: Call['affected'];
  /** Looks at the answer of a call; an error is one, too. */
  readonly answered: (call: Call, answer: unknown, node: SimNode) => void;
}

const EITHER = ['RATE_LIMITED', 'USAGE_EXCEEDED'];
const NOTHING = { counts: false, expected: null } as const;

interface ActsContext {
  readonly random: Random;
  readonly model: CreditModel;
  readonly auditor: Engine;
  readonly plans: readonly string[];
  readonly now: () => number;
  readonly newName: () => number;
  /** A promise was broken. */
  readonly fail: (of: Case, what: string) => void;
}

/** The calls of clients: what each asks, and what the model says of it when the database commits it and when it is answered. */
export class Acts {
  readonly #context: ActsContext;
  readonly #random: Random;
  readonly #model: CreditModel;
  /** Local verifications that a process has admitted, by key and window. */
  readonly #admitted = new Map<SimNode, Map<string, number>>();
  /** Reservations that hold a place of a strict limit. */
  readonly holdsPlaces = new Set<string>();
  /** When a change was committed of which a node has given the answer, by node and key. */
  readonly #answeredChanges = new Map<SimNode, Map<string, number>>();

  constructor(context: ActsContext) {
    this.#context = context;
    this.#random = context.random;
    this.#model = context.model;
  }

  /** A call that a client might make now. */
  draw(of: Case): Act {
    const random = this.#random;
    const verifies = (): Act => this.#verifies(of);
    const acts = [
      ...Array.from({ length: 8 }, () => verifies),
      () => this.#reserves(of),
      () => this.#reserves(of),
      () => this.#ends(of),
      () => this.#ends(of),
      () => this.#grants(of),
      () => this.#adjusts(of),
      () => this.#sets(of),
      () => this.#assigns(of),
      () => this.#switches(of),
      () => this.#switches(of),
    ];
    return random.pick(acts)();
  }

  #holdersOf({ identity }: Case, { holder }: Key): ModelHolder[] {
    return identity === null ? [holder] : [holder, identity.holder];
  }

  #isUsable({ identity }: Case, { isDeleted, isEnabled, isGone }: Key): boolean {
    return !isDeleted && isEnabled && !isGone && identity?.isEnabled !== false;
  }

  #changeKey(of: Case, change: () => void): void {
    change();
    for (const key of of.keys) key.history.push({ atMs: this.#context.now(), isUsable: this.#isUsable(of, key) });
  }

  #shownOf(holders: readonly ModelHolder[]): number | null {
    const balances = holders.flatMap(({ account }) =>
      account === null || account.isMetered ? [] : this.#model.value(account),
    );
    return balances.length === 0 ? null : Math.min(...balances);
  }

  /** What the model says to a spend that the database has decided. `take`: takes the credits, or answers false. */
  #decided(of: Case, key: Key, { cost, status, reservationId }: Decision, take: () => boolean): Expected {
    const { strict } = key;
    const holders = this.#holdersOf(of, key);
    const isTaken = status === 'taken';
    if (isTaken && !this.#isUsable(of, key))
      this.#context.fail(of, `${key.id} was charged although it may not be used`);
    strict?.turn(this.#context.now());
    if (!isTaken) {
      const remaining = this.#shownOf(holders);
      if (strict?.mayFit === false) return { codes: ['RATE_LIMITED'], remaining: null };
      const isEnough = holders.every(
        ({ account }) => account === null || account.isMetered || this.#model.value(account) >= cost,
      );
      if (strict?.mustFit === false) return { codes: isEnough ? ['RATE_LIMITED'] : EITHER, remaining };
      if (isEnough) this.#context.fail(of, `${key.id} was refused although it has enough for ${cost}`);
      return { codes: ['USAGE_EXCEEDED'], remaining };
    }
    if (strict?.mayFit === false) this.#context.fail(of, `${key.id} exceeded its strict limit of ${strict.describe()}`);
    if (!take()) this.#context.fail(of, `${key.id} was charged ${cost} although it has not enough`);
    strict?.take(reservationId === null ? undefined : this.#model.reservations.get(reservationId));
    return { codes: ['VALID'], remaining: this.#shownOf(holders) };
  }

  #verifies(of: Case): Act {
    const [key, cost] = [this.#random.pick(of.keys), this.#random.below(5)];
    const holders = this.#holdersOf(of, key);
    return {
      what: `verify ${key.id} for ${cost}`,
      run: async (engine) => engine.verifier.verify({ ...QUESTION, secretDigest: key.secret, creditCost: cost }),
      affected: (effect) => {
        if (effect.kind !== 'spend') return NOTHING;
        const { status } = effect.outcome;
        if (status !== 'taken' && status !== 'refused') return NOTHING;
        const expected = this.#decided(of, key, { cost, status, reservationId: null }, () =>
          this.#model.spend(holders, cost),
        );
        return { counts: status === 'taken', expected };
      },
      answered: (call, answer, node) => this.#compareVerdict(call, key, answer as Verdict, node),
    };
  }

  #compareVerdict(call: Call, key: Key, verdict: Verdict, node: SimNode): void {
    const { of } = call;
    const { code } = verdict;
    const expected = call.expected as Expected | undefined;
    const isExact = key.strict !== null || this.#holdersOf(of, key).some(({ account }) => account !== null);
    if (code === 'VALID' && isExact && call.effects === 0 && expected === undefined)
      // A counter may have been opened after the verification was decided.
      this.#requireState(call, key, node, true);
    if (expected !== undefined && ['VALID', ...EITHER].includes(code)) {
      const isKnown = expected.remaining !== null && code !== 'RATE_LIMITED';
      if (!expected.codes.includes(code) || (isKnown && verdict.remaining !== expected.remaining))
        this.#context.fail(
          of,
          `${call.what}: ${code} ${verdict.remaining}, the model says ${JSON.stringify(expected)}`,
        );
    }
    if (code !== 'VALID' && call.effects > 0)
      this.#context.fail(of, `${call.what}: charged, and answered with ${code}`);
    const isOfState = code === 'NOT_FOUND' || code === 'DISABLED';
    if (isOfState) this.#requireState(call, key, node, false);
    if (code === 'VALID' && call.effects === 0) this.#requireState(call, key, node, true);
    if (code === 'VALID' && key.local !== null) this.#countLocal(call, key, verdict, node);
  }

  /** The key was as the verdict says at some time that the node may have known. */
  #requireState({ startMs, of, what }: Call, key: Key, node: SimNode, isUsable: boolean): void {
    const answeredMs = this.#answeredChanges.get(node)?.get(key.id) ?? -Infinity;
    const fromMs = Math.max(startMs - STALE_MAX_MS, answeredMs <= startMs ? answeredMs : -Infinity);
    const { history } = key;
    const wasSo = history.some(
      (state, i) => state.isUsable === isUsable && (history[i + 1]?.atMs ?? Infinity) >= fromMs,
    );
    if (!wasSo)
      this.#context.fail(
        of,
        `${what}: the key was ${isUsable ? 'not usable' : 'usable'} for longer than the node may be behind`,
      );
  }

  #countLocal(call: Call, key: Key, verdict: Verdict, node: SimNode): void {
    const report = verdict.limits?.find(({ limit }) => limit.name === 'local');
    if (report === undefined || key.local === null || verdict.replayed) return;
    const counts = this.#admitted.get(node) ?? new Map<string, number>();
    this.#admitted.set(node, counts);
    const id = `${key.id} ${report.resetAtMs}`;
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    if (count > key.local.limit)
      this.#context.fail(
        call.of,
        `${call.what}: ${count} of at most ${key.local.limit} in the window until ${report.resetAtMs}`,
      );
  }

  #reserves(of: Case): Act {
    const random = this.#random;
    const [key, cost] = [random.pick(of.keys), 1 + random.below(9)];
    const ttlMs = random.pick([1_000, 1_000, 20_000, HOUR_MS / 3, HOUR_MS]);
    const onExpiry = random.pick(['release', 'charge'] as const);
    const terms = this.#context.auditor.reservations.terms(ttlMs, onExpiry);
    const holders = this.#holdersOf(of, key);
    return {
      what: `reserve ${cost} of ${key.id} for ${ttlMs} ms (${terms.id}, ${onExpiry})`,
      run: async (engine) =>
        engine.verifier.verify({ ...QUESTION, secretDigest: key.secret, creditCost: cost, reservation: terms }),
      affected: (effect) => {
        if (effect.kind !== 'reserve') return NOTHING;
        const { status } = effect.outcome.spend;
        if (status !== 'taken' && status !== 'refused') return NOTHING;
        const wanted = { cost, expiresAtMs: this.#context.now() + ttlMs, onExpiry };
        const decision = { cost, status, reservationId: terms.id };
        const expected = this.#decided(of, key, decision, () => this.#model.reserve(terms.id, holders, wanted));
        if (status === 'taken') {
          of.reservations.push(terms.id);
          if (key.strict !== null) this.holdsPlaces.add(terms.id);
        }
        if (of.reservations.length > 8) of.reservations.shift();
        return { counts: status === 'taken', expected: { ...expected, remaining: null } };
      },
      answered: (call, answer, node) => this.#compareVerdict(call, key, answer as Verdict, node),
    };
  }

  #ends(of: Case): Act {
    const random = this.#random;
    if (of.reservations.length === 0) return this.#reserves(of);
    const id = random.pick(of.reservations);
    const isSettled = random.once(2);
    const [cost, allowOverage] = [random.below(14), random.once(2)];
    return {
      what: isSettled ? `settle ${id} with ${cost}` : `release ${id}`,
      run: async (engine) =>
        isSettled ? engine.reservations.settle(ACTOR, id, cost, allowOverage) : engine.reservations.release(ACTOR, id),
      affected: (effect) => {
        if (effect.kind !== 'end') return NOTHING;
        const before = this.#model.reservations.get(id)?.state;
        const { status } = effect.outcome;
        if (status === 'not held' && before === 'held') this.#context.fail(of, `${id} is held, and was called ended`);
        if (status !== 'done') return NOTHING;
        const outcome = isSettled ? this.#model.settle(id, cost, allowOverage) : this.#model.release(id);
        if (outcome !== 'done') this.#context.fail(of, `${id} was ended, the model says ${outcome}`);
        const { charged, returned } = this.#model.reservations.get(id) ?? {};
        return { counts: true, expected: { charged, returned } };
      },
      answered: (call, answer) => {
        const { charged, returned } = answer as { charged: number; returned: number };
        if (call.expected === undefined) return;
        this.#compare(call, { charged, returned });
      },
    };
  }

  #compare({ of, what, expected }: Call, answered: unknown): void {
    if (JSON.stringify(answered) === JSON.stringify(expected)) return;
    this.#context.fail(of, `${what}: ${JSON.stringify(answered)}, the model says ${JSON.stringify(expected)}`);
  }

  /** A change of management: `change` is what it means to the model, when the database commits it. */
  #changes(what: string, run: Act['run'], change: () => unknown, answer: (given: unknown) => unknown): Act {
    return {
      what,
      run,
      affected: (effect) => (effect.kind === 'change' ? { counts: true, expected: change() ?? null } : NOTHING),
      answered: (call, given) => {
        if (call.effects > 0 && call.expected !== undefined) this.#compare(call, answer(given));
      },
    };
  }

  #holderOf(of: Case) {
    const random = this.#random;
    const { identity } = of;
    if (identity !== null && random.once(2))
      return { holder: identity.holder, reference: { externalId: identity.externalId }, key: null };
    const key = random.pick(of.keys);
    return { holder: key.holder, reference: { keyId: key.id }, key };
  }

  #grants(of: Case): Act {
    const random = this.#random;
    const { holder, reference } = this.#holderOf(of);
    const amount = 1 + random.below(10);
    const inMs = random.pick([null, 1_000, 30_000, HOUR_MS]);
    const expiresAtMs = inMs === null ? null : this.#context.now() + inMs;
    const input = { amount, expiresAtMs, reason: 'sim', idempotencyId: `grant-${this.#context.newName()}` };
    return this.#changes(
      `grant ${amount} to ${holder.name} until ${expiresAtMs}`,
      (engine) => engine.credits.grant(ACTOR, reference, input),
      () => {
        if (expiresAtMs !== null && expiresAtMs <= this.#context.now()) return this.#lateGrant(of, holder, amount);
        return this.#model.grant(holder, amount, expiresAtMs);
      },
      (given) => (given as { remaining: number }).remaining,
    );
  }

  /** It had expired when it was committed. The answer still counts it, and nothing of it can be spent. */
  #lateGrant(of: Case, { account }: ModelHolder, amount: number): number | undefined {
    if (account === null) this.#context.fail(of, 'credits were granted to a holder without a counter');
    return account === null ? undefined : this.#model.value(account) + amount;
  }

  #adjusts(of: Case): Act {
    const { holder, reference } = this.#holderOf(of);
    const by = this.#random.below(30) - 15;
    const input = { by, reason: 'sim', idempotencyId: `adjust-${this.#context.newName()}` };
    return this.#changes(
      `adjust ${holder.name} by ${by}`,
      (engine) => engine.credits.adjust(ACTOR, reference, input),
      () => {
        const balance = this.#model.adjust(holder, by);
        return holder.account?.isMetered === true ? holder.account.own : balance;
      },
      (given) => (given as { remaining: number }).remaining,
    );
  }

  #sets(of: Case): Act {
    const { holder, reference, key } = this.#holderOf(of);
    const remaining = this.#random.below(30);
    return this.#changes(
      `set ${holder.name} to ${remaining}`,
      async (engine) => {
        if (key === null) await engine.identities.update(ACTOR, reference, { remaining });
        else await engine.keys.update(ACTOR, key.id, { remaining });
      },
      () => {
        if (holder.account?.isMetered === true) this.#model.close(holder);
        this.#model.set(holder, remaining);
        return undefined;
      },
      () => undefined,
    );
  }

  #assigns(of: Case): Act {
    const random = this.#random;
    const { identity } = of;
    const [key] = of.keys;
    if (identity === null && key === undefined) return this.#verifies(of);
    const holder = identity?.holder ?? (key as Key).holder;
    const reference = identity === null ? { keyId: (key as Key).id } : { externalId: identity.externalId };
    const planId = random.pick([null, ...this.#context.plans]);
    const balance = random.pick(['keep', 'upgrade', 'reset'] as const);
    return this.#changes(
      `assign ${planId} to ${holder.name} (${balance})`,
      async (engine) =>
        engine.assignPlan.assign(ACTOR, { holder: reference, planId, when: 'now', balance, force: true }),
      () => {
        this.#model.assign(holder, planId, balance);
        return undefined;
      },
      () => undefined,
    );
  }

  /** Disables and enables, deletes and restores. */
  #switches(of: Case): Act {
    const random = this.#random;
    const key = random.pick(of.keys);
    const { identity } = of;
    const noted = (node: SimNode | null, answeredMs: number): void => {
      if (node === null) return;
      const known = this.#answeredChanges.get(node) ?? new Map<string, number>();
      this.#answeredChanges.set(node, known);
      for (const { id } of of.keys) known.set(id, answeredMs);
    };
    const act = (what: string, run: Act['run'], change: () => void): Act => {
      let committedMs = 0;
      const made = this.#changes(
        what,
        run,
        () => {
          this.#changeKey(of, change);
          committedMs = this.#context.now();
          return undefined;
        },
        () => undefined,
      );
      // From its answer on, this node never uses what was before.
      return { ...made, answered: (call, _answer, node) => noted(call.effects > 0 ? node : null, committedMs) };
    };
    const how = random.below(identity === null ? 3 : 4);
    const to = random.once(3);
    if (how === 0)
      return act(
        `delete ${key.id}`,
        (engine) => engine.deleteKey.delete(ACTOR, key.id, false),
        () => (key.isDeleted = true),
      );
    if (how === 1)
      return act(
        `restore ${key.id}`,
        (engine) => engine.deleteKey.restore(ACTOR, key.id),
        () => (key.isDeleted = false),
      );
    if (how === 2 || identity === null)
      return act(
        `${to ? 'disable' : 'enable'} ${key.id}`,
        (engine) => engine.keys.update(ACTOR, key.id, { enabled: !to }),
        () => (key.isEnabled = !to),
      );
    return act(
      `${to ? 'disable' : 'enable'} ${identity.externalId}`,
      async (engine) => engine.identities.update(ACTOR, { externalId: identity.externalId }, { enabled: !to }),
      () => (identity.isEnabled = !to),
    );
  }
}
