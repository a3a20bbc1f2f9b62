import { AppError } from '../../src/core/errors.ts';
import { METERED_ZERO } from '../../src/core/accountBook.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Verdict } from '../../src/engine/verify/verdict.ts';
import type { Storage } from '../../src/storage/port/storage.ts';
import { QUESTION } from '../../test/support/analytics.ts';
import { CreditModel, HOUR_MS, type ModelHolder, type ModelReservation, type Rule } from './creditModel.ts';
import { type Effect, makeSimEngine, SimNode, STALE_MAX_MS, type Weather } from './node.ts';
import { Primary } from './primary.ts';
import { Random, running, VirtualTime } from './time.ts';

const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 2, 15, 12);
const ACTOR = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };

/** Everything that can be switched off, to make a failing world smaller. */
export const FAULTS = ['lost', 'late', 'cut', 'pause', 'kill', 'sleep', 'clock'] as const;
export type Fault = (typeof FAULTS)[number];

export interface WorldOptions {
  readonly seed: number;
  /** Calls of clients. */
  readonly calls: number;
  readonly nodes: number;
  readonly cases: number;
  readonly faults: readonly Fault[];
}

/** A promise was broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly story: readonly string[];

  constructor(what: string, story: readonly string[]) {
    super(what);
    this.story = story;
  }
}

/** A strict limit, told a second time. */
class StrictWindow {
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

interface Key {
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
interface Case {
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
  readonly code: string;
  readonly remaining: number | null;
}

/** A call of a client: what it asks, and what the model says of each effect that it has. */
interface Call {
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

interface Act {
  readonly what: string;
  readonly run: (engine: Engine) => Promise<unknown>;
  readonly affected: Call['affected'];
  /** Looks at the answer of a call; an error is one, too. */
  readonly answered: (call: Call, answer: unknown, node: SimNode) => void;
}

const RULES: readonly (Rule | null)[] = [
  null,
  { everyMs: DAY_MS, mode: 'restore', amount: 20, max: null },
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

const NOTHING = { counts: false, expected: null } as const;

/** Answers that say that nothing was done. */
const NOTHING_DONE = new Set(['UNAVAILABLE', 'NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'BAD_REQUEST']);

/**
 * A world: nodes, a database, clients, and all that can go wrong between them. A model that shares no code with the product follows what the
 * database commits, one effect after the other, and says what each must have been. Every answer is compared with that.
 */
export class World {
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #time = new VirtualTime(START_MS);
  readonly #primary: Primary;
  /** Reads and prepares at the database itself. */
  readonly #auditor: Engine;
  readonly #model = new CreditModel(START_MS);
  readonly #cases: Case[] = [];
  readonly #nodes: SimNode[] = [];
  readonly #plans: string[] = [];
  readonly #open = new Set<Call>();
  /** Local verifications that a process has admitted, by key and window. */
  readonly #admitted = new Map<SimNode, Map<string, number>>();
  /** When a change was committed of which a node has given the answer, by node and key. */
  readonly #answeredChanges = new Map<SimNode, Map<string, number>>();
  readonly #failures: Violation[] = [];
  #names = 0;
  calls = 0;
  /** Effects and answers that were compared with the model. */
  checks = 0;
  /** How often each fault struck. */
  readonly struck: Record<string, number> = {};

  private constructor(options: WorldOptions, primary: Primary, random: Random) {
    this.#options = options;
    this.#primary = primary;
    this.#random = random;
    this.#auditor = makeSimEngine(this.#direct(primary), random);
    primary.onChange = () => {
      for (const node of this.#nodes) node.notify();
    };
  }

  static async play(options: WorldOptions): Promise<World> {
    const random = new Random(options.seed);
    let world: World | null = null;
    const primary = await Primary.open(() => world?.nowMs ?? START_MS);
    try {
      world = new World(options, primary, random);
      await world.#play();
      return world;
    } finally {
      await primary.close();
    }
  }

  get nowMs(): number {
    return this.#time.nowMs;
  }

  /** The database as a storage without a network. */
  #direct(primary: Primary): Storage {
    const { storage } = primary;
    const ledger = new Proxy(storage.ledger, {
      get: (target, name) => {
        if (name === 'apply') return (change: never) => primary.apply(change);
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return new Proxy(storage, {
      get: (target, name) => {
        if (name === 'ledger') return ledger;
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async #play(): Promise<void> {
    const { calls, nodes, cases } = this.#options;
    await this.#makePlans();
    for (let i = 0; i < cases; i++) this.#cases.push(await this.#makeCase());
    this.#time.install();
    for (let i = 0; i < nodes; i++) this.#startNode(`node ${i + 1}`);
    await this.#time.runTo(this.nowMs + 1_000);
    for (const next = { audit: 300 }; this.calls < calls;) {
      this.#plan();
      await this.#time.runTo(this.nowMs + this.#step());
      this.#refuseFailures();
      if (this.calls >= next.audit) {
        next.audit += 300;
        await this.#audit();
      }
    }
    await this.#audit();
    await this.#compareEvents();
  }

  /** How long until the next calls: mostly moments, at times up to an instant at which something is due. */
  #step(): number {
    const random = this.#random;
    if (random.once(40)) return Math.ceil(this.nowMs / HOUR_MS) * HOUR_MS - this.nowMs + random.pick([-1, 0, 1, 20]);
    if (random.once(200)) return random.below(DAY_MS);
    return random.pick([0, 1, 3, 10, 30, 100, 400, 1_000]);
  }

  #startNode(name: string): SimNode {
    const { faults } = this.#options;
    const weather: Weather = {
      lostOnceIn: faults.includes('lost') ? 60 : 0,
      lateOnceIn: faults.includes('late') ? 12 : 0,
      lateMs: 2_500,
      usualMs: 4,
    };
    const context = { name, time: this.#time, random: this.#random, primary: this.#primary, weather };
    const node = new SimNode({
      ...context,
      hears: { affected: (call, effect) => this.#affected(call as Call, effect) },
    });
    this.#nodes.push(node);
    node.start();
    return node;
  }

  /** Calls and faults that begin now. */
  #plan(): void {
    const random = this.#random;
    if (random.once(25)) this.#strike(random.pick(this.#options.faults));
    const count = 1 + random.below(6);
    for (let i = 0; i < count; i++) {
      const of = random.pick(this.#cases);
      const node = random.pick(this.#nodes);
      if (of.keys.length > 0) this.#call(node, of, this.#draw(of));
    }
  }

  #strike(fault: Fault | undefined): void {
    const random = this.#random;
    const node = random.pick(this.#nodes);
    const forMs = random.pick([50, 300, 1_100, 2_500, 6_000]);
    const later = (work: () => void): void => void this.#time.after(forMs, work);
    if (fault === undefined || fault === 'lost' || fault === 'late') return;
    this.struck[fault] = (this.struck[fault] ?? 0) + 1;
    this.#tellAll(`${fault} of ${node.name} for ${forMs} ms`);
    if (fault === 'cut') {
      node.isCut = true;
      later(() => (node.isCut = false));
    } else if (fault === 'pause') {
      node.process.pause();
      later(() => node.process.resume());
    } else if (fault === 'sleep') {
      node.process.pause();
      later(() => {
        node.sleptMs += forMs;
        node.process.resume();
      });
    } else if (fault === 'clock') node.wallOffsetMs += random.pick([-HOUR_MS, -5_000, -700, 700, 5_000, HOUR_MS]);
    else {
      node.process.die();
      this.#nodes.splice(this.#nodes.indexOf(node), 1);
      for (const call of this.#open) if (running.getStore() !== null) void call;
      this.#startNode(node.name);
    }
  }

  #tellAll(text: string): void {
    for (const { story } of this.#cases) this.#tell(story, text);
  }

  #tell(story: string[], text: string): void {
    story.push(`${new Date(this.nowMs).toISOString()} ${text}`);
    if (story.length > 60) story.shift();
  }

  #fail(of: Case, what: string): void {
    this.#failures.push(new Violation(what, [...of.story]));
  }

  #refuseFailures(): void {
    const [failure] = this.#failures;
    if (failure !== undefined) throw failure;
  }

  #call(node: SimNode, of: Case, act: Act): void {
    const call: Call = {
      number: ++this.calls,
      of,
      what: `#${this.calls} ${act.what} at ${node.name}`,
      startMs: this.nowMs,
      effects: 0,
      expected: undefined,
      affected: act.affected,
    };
    this.#open.add(call);
    this.#tell(of.story, `${call.what} ...`);
    const begin = (): void => {
      const answer = running.run({ process: node.process, call }, () => act.run(node.engine));
      void this.#finish(call, act, { answer, node });
    };
    node.process.run(begin);
  }

  async #finish(call: Call, act: Act, { answer, node }: { answer: Promise<unknown>; node: SimNode }): Promise<void> {
    const given = await answer.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    this.#open.delete(call);
    // Nobody hears what a dead process answers.
    if (node.process.state !== 'dead') this.#answer(call, act, given, node);
  }

  #answer(call: Call, act: Act, answer: unknown, node: SimNode): void {
    this.checks++;
    const text = answer instanceof Error ? codeOf(answer) : brief(answer);
    this.#tell(call.of.story, `${call.what} -> ${text}`);
    if (answer instanceof Error) {
      const isExpected =
        isStorageError(answer) || (answer instanceof AppError && answer.code !== 'INTERNAL_SERVER_ERROR');
      if (!isExpected) this.#fail(call.of, `${call.what} failed: ${answer.stack}`);
      else if (NOTHING_DONE.has(codeOf(answer)) && call.effects > 0)
        this.#fail(call.of, `${call.what} was answered with ${codeOf(answer)}, but it has changed something`);
      return;
    }
    act.answered(call, answer, node);
  }

  /** The database has committed something for a call, or decided it. */
  #affected(call: Call, effect: Effect): void {
    this.#model.advance(this.nowMs);
    this.checks++;
    const { counts, expected } = call.affected(effect);
    if (counts) call.effects++;
    if (expected !== null) call.expected = expected;
    if (counts) this.#tell(call.of.story, `${call.what}: ${effect.kind} committed`);
    if (call.effects > 1) this.#fail(call.of, `${call.what} was charged or changed twice`);
  }

  async #makePlans(): Promise<void> {
    for (const [remaining, rule] of [
      [30, RULES[1]],
      [15, RULES[4]],
      [50, null],
    ] as const) {
      const input = { remaining, refill: toInput(rule ?? null) };
      const id = await this.#auditor.plans.create(ACTOR, `plan ${++this.#names}`, input);
      this.#plans.push(id);
      this.#model.plans.set(id, { remaining, versions: [{ fromMs: 0, rule: rule ?? null }] });
    }
  }

  async #makeCase(): Promise<Case> {
    const random = this.#random;
    const { id: apiId } = await this.#auditor.apis.create(ACTOR, `api ${++this.#names}`);
    const isAlone = random.once(2);
    const identity = isAlone ? null : await this.#makeIdentity();
    const made: Case = { number: this.#cases.length, apiId, identity, keys: [], reservations: [], story: [] };
    const keys = isAlone ? 1 : 2;
    for (let i = 0; i < keys; i++) made.keys.push(await this.#makeKey(made));
    return made;
  }

  async #makeIdentity(): Promise<NonNullable<Case['identity']>> {
    const externalId = `customer ${++this.#names}`;
    const holder = this.#model.add(externalId);
    const id = await this.#auditor.identities.create(ACTOR, externalId, this.#newCounter(holder));
    return { externalId, id, holder, isEnabled: true };
  }

  async #makeKey({ apiId, identity }: Case): Promise<Key> {
    const random = this.#random;
    const holder = this.#model.add(`key ${++this.#names}`);
    const counter = identity === null || random.once(2) ? this.#newCounter(holder) : {};
    const owner = identity === null ? {} : { externalId: identity.externalId };
    const windows = [1_000, 20_000, HOUR_MS];
    const strict = random.once(3) ? { limit: 1 + random.below(8), durationMs: random.pick(windows) } : null;
    const local = random.once(3) ? { limit: 1 + random.below(8), durationMs: random.pick(windows) } : null;
    const limits = [
      ...(strict === null ? [] : [{ ...strict, name: 'strict', async: false }]),
      ...(local === null ? [] : [{ ...local, name: 'local', async: true }]),
    ];
    const fields = { apiId, prefix: null, byteLength: null, ...owner, ...counter, otherLimits: limits };
    const { keyId: id, secret } = await this.#auditor.keys.create(ACTOR, fields);
    return {
      id,
      secret,
      holder,
      isDeleted: false,
      isEnabled: true,
      isGone: false,
      history: [{ atMs: START_MS, isUsable: true }],
      strict: strict === null ? null : new StrictWindow(strict.limit, strict.durationMs),
      local,
    };
  }

  #newCounter(holder: ModelHolder) {
    const random = this.#random;
    if (random.once(3)) return {};
    if (random.once(8)) {
      this.#model.open(holder, 0, { isMetered: true });
      return { metered: true };
    }
    const [remaining, rule] = [random.below(40), random.pick(RULES)];
    this.#model.open(holder, remaining);
    if (rule !== null) this.#model.setRule(holder, rule);
    return { remaining, ...(rule === null ? {} : { refill: toInput(rule) }) };
  }

  #draw(of: Case): Act {
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
    for (const key of of.keys) key.history.push({ atMs: this.nowMs, isUsable: this.#isUsable(of, key) });
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
    if (isTaken && !this.#isUsable(of, key)) this.#fail(of, `${key.id} was charged although it may not be used`);
    strict?.turn(this.nowMs);
    if (!isTaken) {
      if (strict?.mustFit === false) return { code: 'RATE_LIMITED', remaining: null };
      const isEnough = holders.every(
        ({ account }) => account === null || account.isMetered || this.#model.value(account) >= cost,
      );
      if (isEnough) this.#fail(of, `${key.id} was refused although it has enough for ${cost}`);
      return { code: 'USAGE_EXCEEDED', remaining: this.#shownOf(holders) };
    }
    if (strict?.mayFit === false) this.#fail(of, `${key.id} exceeded its strict limit of ${strict.describe()}`);
    if (!take()) this.#fail(of, `${key.id} was charged ${cost} although it has not enough`);
    strict?.take(reservationId === null ? undefined : this.#model.reservations.get(reservationId));
    return { code: 'VALID', remaining: this.#shownOf(holders) };
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
    if (expected !== undefined && (code === 'VALID' || code === 'USAGE_EXCEEDED')) {
      const isSame =
        code === expected.code && (expected.remaining === null || verdict.remaining === expected.remaining);
      if (!isSame)
        this.#fail(of, `${call.what}: ${code} ${verdict.remaining}, the model says ${JSON.stringify(expected)}`);
    }
    if (code !== 'VALID' && call.effects > 0) this.#fail(of, `${call.what}: charged, and answered with ${code}`);
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
      this.#fail(
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
      this.#fail(
        call.of,
        `${call.what}: ${count} of at most ${key.local.limit} in the window until ${report.resetAtMs}`,
      );
  }

  #reserves(of: Case): Act {
    const random = this.#random;
    const [key, cost] = [random.pick(of.keys), 1 + random.below(9)];
    const ttlMs = random.pick([1_000, 1_000, 20_000, HOUR_MS / 3, HOUR_MS]);
    const onExpiry = random.pick(['release', 'charge'] as const);
    const terms = this.#auditor.reservations.terms(ttlMs, onExpiry);
    const holders = this.#holdersOf(of, key);
    return {
      what: `reserve ${cost} of ${key.id} for ${ttlMs} ms (${terms.id}, ${onExpiry})`,
      run: async (engine) =>
        engine.verifier.verify({ ...QUESTION, secretDigest: key.secret, creditCost: cost, reservation: terms }),
      affected: (effect) => {
        if (effect.kind !== 'reserve') return NOTHING;
        const { status } = effect.outcome.spend;
        if (status !== 'taken' && status !== 'refused') return NOTHING;
        const wanted = { cost, expiresAtMs: this.nowMs + ttlMs, onExpiry };
        const decision = { cost, status, reservationId: terms.id };
        const expected = this.#decided(of, key, decision, () => this.#model.reserve(terms.id, holders, wanted));
        if (status === 'taken') of.reservations.push(terms.id);
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
        if (status === 'not held' && before === 'held') this.#fail(of, `${id} is held, and was called ended`);
        if (status !== 'done') return NOTHING;
        const outcome = isSettled ? this.#model.settle(id, cost, allowOverage) : this.#model.release(id);
        if (outcome !== 'done') this.#fail(of, `${id} was ended, the model says ${outcome}`);
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
    this.#fail(of, `${what}: ${JSON.stringify(answered)}, the model says ${JSON.stringify(expected)}`);
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
    const expiresAtMs = inMs === null ? null : this.nowMs + inMs;
    const input = { amount, expiresAtMs, reason: 'sim', idempotencyId: `grant-${++this.#names}` };
    return this.#changes(
      `grant ${amount} to ${holder.name} until ${expiresAtMs}`,
      (engine) => engine.credits.grant(ACTOR, reference, input),
      () => {
        if (expiresAtMs !== null && expiresAtMs <= this.nowMs) return this.#lateGrant(of, holder);
        return this.#model.grant(holder, amount, expiresAtMs);
      },
      (given) => (given as { remaining: number }).remaining,
    );
  }

  /** It had expired when it was committed: nothing of it is left. */
  #lateGrant(of: Case, { account }: ModelHolder): number | undefined {
    if (account === null) this.#fail(of, 'credits were granted to a holder without a counter');
    return account === null ? undefined : this.#model.value(account);
  }

  #adjusts(of: Case): Act {
    const { holder, reference } = this.#holderOf(of);
    const by = this.#random.below(30) - 15;
    const input = { by, reason: 'sim', idempotencyId: `adjust-${++this.#names}` };
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
        if (key === null) await engine.identities.update(ACTOR, reference as { externalId: string }, { remaining });
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
    const planId = random.pick([null, ...this.#plans]);
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
          committedMs = this.nowMs;
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

  /** The tables say what the model says, and every statement adds up. */
  async #audit(): Promise<void> {
    await this.#heal();
    const work = async (): Promise<void> => {
      await this.#auditor.dueCredits.endExpired();
      await this.#auditor.dueCredits.sweep();
      this.#model.advance(this.nowMs);
      for (const of of this.#cases) {
        for (const key of of.keys) if (!key.isDeleted && !key.isGone) await this.#compareHolder(of, key.holder, key.id);
        if (of.identity !== null) await this.#compareHolder(of, of.identity.holder, of.identity.id);
      }
    };
    await work();
    this.#refuseFailures();
  }

  /** All faults end, and every call is answered. */
  async #heal(): Promise<void> {
    for (const node of this.#nodes) {
      node.isCut = false;
      node.process.resume();
    }
    await this.#time.runTo(this.nowMs + 60_000);
    for (const call of this.#open) this.#open.delete(call);
  }

  async #compareHolder(of: Case, holder: ModelHolder, id: string): Promise<void> {
    this.checks++;
    const shown = id.startsWith('key_')
      ? await this.#auditor.keys.get(ACTOR, id)
      : await this.#auditor.identities.get(ACTOR, { id });
    const { account } = holder;
    const expected =
      account === null
        ? [null, 0]
        : [account.isMetered ? null : this.#model.value(account), this.#model.heldOf(account)];
    if (JSON.stringify([shown.remaining, shown.held]) !== JSON.stringify(expected))
      this.#fail(
        of,
        `${holder.name}: ${shown.remaining} and ${shown.held} held, the model says ${expected.join(' and ')}`,
      );
    const query = { per: 'day' as const, startMs: null, endMs: null, limit: 1_000, cursor: null };
    const subject = id.startsWith('key_') ? { keyId: id } : { identity: { id } };
    const { rows } = await this.#auditor.usage.getStatement(ACTOR, subject, query);
    let [before, spent] = [0, 0];
    for (const { row } of rows) {
      const { opening, granted, refilled, adjusted, expired, closing } = row;
      if (opening !== before || closing !== opening + granted + refilled + adjusted - row.spent - expired)
        this.#fail(of, `${holder.name}: a row of the statement does not add up: ${JSON.stringify(row)}`);
      before = closing;
      spent += row.spent;
    }
    const spentByModel = holder.spent + (account?.spent ?? 0);
    if (spent !== spentByModel)
      this.#fail(of, `${holder.name}: the statement says ${spent} spent, the model says ${spentByModel}`);
    void METERED_ZERO;
  }

  /** Every reservation that expired was told once, with what was charged for it, in the order of the log. */
  async #compareEvents(): Promise<void> {
    const told = new Map<string, number[]>();
    let last = 0;
    for (;;) {
      const page = await this.#primary.storage.events.list({
        after: last,
        types: ['reservation.expired'],
        limit: 1_000,
      });
      for (const { data } of page) {
        const { reservationId, charged } = JSON.parse(data) as { reservationId: string; charged: number };
        told.set(reservationId, [...(told.get(reservationId) ?? []), charged]);
      }
      last = page.at(-1)?.sequence ?? last;
      if (page.length < 1_000) break;
    }
    const [of] = this.#cases;
    if (of === undefined) return;
    for (const { id, state, parts, charged } of this.#model.reservations.values()) {
      const expected = state === 'expired' && parts.length > 0 ? [charged] : undefined;
      this.checks++;
      if (JSON.stringify(told.get(id)) !== JSON.stringify(expected))
        this.#fail(of, `${id}: events say ${JSON.stringify(told.get(id))}, the model says ${JSON.stringify(expected)}`);
    }
    this.#refuseFailures();
  }
}

function codeOf(error: Error): string {
  return error instanceof AppError ? error.code : error.name;
}

function isStorageError({ name }: Error): boolean {
  return name === 'StorageUnavailable' || name === 'StorageOutcomeUnknown';
}

function brief(answer: unknown): string {
  const { code, remaining } = (answer ?? {}) as { code?: string; remaining?: number };
  return code === undefined ? 'done' : `${code} ${remaining}`;
}
