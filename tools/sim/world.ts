import { AppError } from '../../src/core/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Storage } from '../../src/storage/port/storage.ts';
import { type Act, ACTOR, Acts, type Call, type Case, type Key, StrictWindow } from './acts.ts';
import { CreditModel, HOUR_MS, type ModelHolder, type Rule } from './creditModel.ts';
import { type Effect, makeSimEngine, SimNode, type Weather } from './node.ts';
import { Primary } from './primary.ts';
import { Random, running, VirtualTime } from './time.ts';

const DAY_MS = 24 * HOUR_MS;
/** A longer time is passed at once, but for its end. */
const LEAP_MS = 1_000;
/** All calls are answered within this time when nothing is wrong any more. */
const HEAL_MS = 8_000;
const START_MS = Date.UTC(2026, 2, 15, 12);

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
  readonly #acts: Acts;
  readonly #failures: Violation[] = [];
  #names = 0;
  calls = 0;
  /** Effects and answers that were compared with the model. */
  checks = 0;
  /** How often each fault struck. */
  readonly struck: Record<string, number> = {};
  /** How calls were answered. */
  readonly answers: Record<string, number> = {};

  private constructor(options: WorldOptions, primary: Primary, random: Random) {
    this.#options = options;
    this.#primary = primary;
    this.#random = random;
    this.#auditor = makeSimEngine(this.#direct(primary), random);
    this.#acts = new Acts({
      random,
      model: this.#model,
      auditor: this.#auditor,
      plans: this.#plans,
      now: () => this.nowMs,
      newName: () => ++this.#names,
      fail: (of, what) => this.#fail(of, what),
    });
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
        return memberOf(target, name);
      },
    });
    return new Proxy(storage, {
      get: (target, name) => {
        if (name === 'ledger') return ledger;
        return memberOf(target, name);
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
    for (const next = { audit: 1_500 }; this.calls < calls;) {
      this.#plan();
      const forMs = this.#step();
      if (forMs > LEAP_MS) await this.#time.leapTo(this.nowMs + forMs - LEAP_MS);
      await this.#time.runTo(this.nowMs + Math.min(forMs, LEAP_MS));
      this.#refuseFailures();
      if (this.calls >= next.audit) {
        next.audit += 1_500;
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
    return random.pick([0, 0, 1, 1, 3, 3, 10, 10, 30, 100, 400, 1_000]);
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
    if (random.once(5)) this.#strike(random.pick(this.#options.faults));
    const count = 1 + random.below(24);
    for (let i = 0; i < count; i++) {
      const of = random.pick(this.#cases);
      const node = random.pick(this.#nodes);
      if (of.keys.length > 0) this.#call(node, of, this.#acts.draw(of));
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
    const [code = ''] = text.split(' ');
    this.answers[code] = (this.answers[code] ?? 0) + 1;
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
    await this.#time.runTo(this.nowMs + HEAL_MS);
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
      const expected =
        state === 'expired' && (parts.length > 0 || this.#acts.holdsPlaces.has(id)) ? [charged] : undefined;
      this.checks++;
      if (JSON.stringify(told.get(id)) !== JSON.stringify(expected))
        this.#fail(of, `${id}: events say ${JSON.stringify(told.get(id))}, the model says ${JSON.stringify(expected)}`);
    }
    this.#refuseFailures();
  }
}

/** A method keeps the object that it belongs to. */
function memberOf(target: object, name: string | symbol): unknown {
  const value = Reflect.get(target, name, target) as unknown;
  return typeof value === 'function' ? (value.bind(target) as unknown) : value;
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
