import { type AccountState, isOfAnotherMark, refillOf, type RefillSchedule } from './account.ts';
import { MAX_COUNT } from './bounds.ts';
import {
  emptyPockets,
  type Grant,
  holdsExpired,
  lastingOf,
  leftOf,
  type Pockets,
  sooner,
  sumOf,
  takeFrom,
  type Taken,
  withGrant,
} from './expiringCredits.ts';
import { dayStartOf, joinedLine, type Movements, type StatementLine } from './statement.ts';

/** An account of credits after something happened to it, and the lines of its statement that this writes. */
export interface Booked {
  readonly state: AccountState;
  /** null = it needs none. */
  readonly pockets: Pockets | null;
  readonly lines: readonly StatementLine[];
}

/**
 * The value that a metered account begins with. Every spend lowers it. What is shown is the value minus this number: -5 means that 5 were
 * used. Spends cannot use it up, because the cost of a verification is bounded (MAX_METERED_COST).
 */
export const METERED_ZERO = 2 ** 52;

const NO_MOVEMENTS: Movements = { granted: 0, refilled: 0, adjusted: 0, spent: 0, expired: 0 };

/**
 * One account of credits while something other than a plain spend happens to it. It keeps three things right together: the balance, the
 * pockets, and the lines of the statement. `upTo` comes first: it applies what has become due.
 */
export class AccountBook {
  readonly #before: AccountState;
  #pockets: Pockets;
  #value: number;
  #base: number;
  #segmentMs: number;
  #mark: number;
  #refillDueMs: number;
  /** The pockets match the present balance. */
  #isWorkedOut = false;
  readonly #lines: StatementLine[] = [];

  constructor(state: AccountState, pockets: Pockets | null) {
    this.#before = state;
    this.#value = state.value;
    this.#base = state.base;
    this.#segmentMs = state.segmentMs;
    this.#mark = state.mark;
    this.#refillDueMs = state.dueAtMs;
    this.#pockets = pockets ?? emptyPockets(state.value);
  }

  /** An account that is opened at this instant, with this value to begin with. */
  static open(atMs: number, mark: number, value: number): AccountBook {
    const state = { kind: 'credits', value, mark, dueAtMs: 0, revision: 0, base: value, segmentMs: atMs } as const;
    return new AccountBook(state, null);
  }

  get value(): number {
    return this.#value;
  }

  /** What can be spent without what was granted. */
  get #own(): number {
    return this.#value - sumOf(this.#pockets.grants) - this.#lasting;
  }

  get #lasting(): number {
    return this.#pockets.lasting ?? 0;
  }

  /** Applies the refills and the expiries up to now, in their order, and begins the line of the present day. */
  upTo(plan: RefillSchedule | null, nowMs: number): this {
    const refillsAtMs = plan !== null && this.#mark < plan.startMs ? plan.startMs : null;
    for (const grant of this.#endedGrants(nowMs)) {
      if (refillsAtMs !== null && grant.expiresAtMs > refillsAtMs) this.#refill(plan, nowMs);
      this.#expire(grant);
    }
    this.#refill(plan, nowMs);
    this.#beginDay(nowMs);
    return this;
  }

  #endedGrants(nowMs: number): readonly Grant[] {
    if (this.#pockets.grants.every(({ expiresAtMs }) => expiresAtMs > nowMs)) return [];
    this.#workOut();
    return this.#pockets.grants.filter(({ expiresAtMs }) => expiresAtMs <= nowMs);
  }

  #expire(grant: Grant): void {
    this.#beginDay(grant.expiresAtMs);
    this.#pockets = { ...this.#pockets, grants: this.#pockets.grants.filter((each) => each !== grant) };
    this.#move({ expired: grant.left }, -grant.left);
  }

  /** No boundary is applied twice. Credits that reservations hold count as not spent, so they are not refilled. */
  #refill(plan: RefillSchedule | null, nowMs: number): void {
    if (plan === null) return;
    // What is due before the next refill stays: the holder moves to another plan then.
    const dueMs = this.#refillDueMs > nowMs ? this.#refillDueMs : plan.nextMs;
    if (this.#mark >= plan.startMs) {
      this.#refillDueMs = dueMs;
      return;
    }
    if (isOfAnotherMark(plan, { ...this.#before, mark: this.#mark })) {
      throw new Error('the refill was planned from another mark');
    }
    this.#workOut();
    this.#begin(plan.startMs, plan.startMs);
    const refilled = refillOf(this.#own + this.#pockets.heldOwn, plan.steps);
    const fitting = Math.min(refilled, MAX_COUNT - this.#value - this.#pockets.held);
    if (fitting > 0) this.#move({ refilled: fitting }, fitting);
    this.#refillDueMs = Math.min(dueMs, plan.nextMs);
  }

  /** Adds to the balance, or takes from it as a spend would. The result stays within 0 and 2^53-1. */
  adjust(by: number): this {
    this.#workOut();
    const most = MAX_COUNT - this.#pockets.held;
    const value = Math.min(most, Math.max(0, this.#value + by));
    const adjusted = value - this.#value;
    if (adjusted < 0) this.#take(-adjusted);
    if (adjusted !== 0) this.#move({ adjusted }, adjusted);
    return this;
  }

  set(value: number): this {
    return this.adjust(value - this.#value);
  }

  /** Sets the account's own credits, and leaves what was granted. */
  setOwn(value: number): this {
    this.#workOut();
    const fitting = Math.min(value - this.#own, MAX_COUNT - this.#value - this.#pockets.held);
    if (fitting !== 0) this.#move({ adjusted: fitting }, fitting);
    return this;
  }

  /** Adds credits that refills leave alone. */
  grant(id: string, amount: number, expiresAtMs: number | null): this {
    this.#workOut();
    const granted = Math.min(amount, MAX_COUNT - this.#value - this.#pockets.held);
    if (expiresAtMs !== null) this.#addGrant({ id, left: granted, expiresAtMs });
    else this.#addLasting(granted);
    this.#move({ granted }, granted);
    return this;
  }

  /** Takes what a reservation holds. The balance must have it. */
  hold(id: string, amount: number, untilMs: number): Taken {
    this.#workOut();
    const taken = this.#take(amount);
    this.#value -= amount;
    this.#base -= amount;
    this.#addHeld(amount, taken.own);
    this.#pockets = { ...this.#pockets, heldUntilMs: sooner(this.#pockets.heldUntilMs, untilMs), newest: id };
    return taken;
  }

  /**
   * Ends a reservation: what was not charged comes back, into the pockets it came from. An expired pocket gets nothing back. Answers how
   * much came back.
   */
  giveBack({ grants, own, lasting = 0 }: Taken, charged: number, nowMs: number): number {
    this.#workOut();
    const { left, rest } = takeFrom(grants, charged);
    const lost = sumOf(left.filter(({ expiresAtMs }) => expiresAtMs <= nowMs));
    for (const grant of left) if (grant.expiresAtMs > nowMs) this.#addGrant(grant);
    const lastingLeft = lasting - Math.max(0, rest - own);
    this.#addLasting(lastingLeft);
    const returned = sumOf(left) - lost + Math.max(0, own - rest) + lastingLeft;
    this.#addHeld(-(sumOf(grants) + own + lasting), -own);
    this.#value += returned;
    this.#base += returned + charged;
    // Written even when nothing was lost: the row also stores what is held, and that is 0 now.
    if (lost > 0 || this.#pockets.held === 0) this.#note({ expired: lost }, -lost);
    return returned;
  }

  /** Spends at most this amount. Answers how much was spent. */
  spend(most: number): number {
    this.#workOut();
    const amount = Math.min(most, this.#value);
    this.#take(amount);
    this.#value -= amount;
    return amount;
  }

  /**
   * Gives the account another refill rule: a new period begins, also where both rules have the same running boundary. A mark that is ahead of
   * a clock that was set back stays: its boundary is not applied again.
   */
  reschedule(mark: number | undefined, dueAtMs: number | undefined, nowMs: number): this {
    const next = mark === this.#mark ? nowMs : mark;
    if (next !== undefined && next !== this.#mark && this.#mark <= nowMs) this.#begin(nowMs, next);
    if (dueAtMs !== undefined) this.#refillDueMs = dueAtMs;
    return this;
  }

  /** The next reservation expires at this instant; 0 = there is none. */
  heldUntil(atMs: number): this {
    this.#pockets = { ...this.#pockets, heldUntilMs: this.#pockets.held === 0 ? 0 : atMs };
    return this;
  }

  /** It holds something for a reservation that has expired by then. */
  holdsExpired(atMs: number): boolean {
    return holdsExpired(this.#pockets, atMs);
  }

  /**
   * The last lines of an account that is closed. Its credits are gone. What was metered stays, and what reservations hold of it counts as
   * used: it can no longer be settled.
   */
  close(isMetered: boolean): readonly StatementLine[] {
    const { held } = this.#pockets;
    const rest = this.#value + held;
    this.#pockets = emptyPockets(0);
    if (isMetered) this.#base += held;
    else {
      this.#base -= this.#value;
      this.#value = 0;
      if (rest > 0) this.#note({ adjusted: -rest }, -rest);
    }
    this.#closeLine();
    return this.#lines;
  }

  booked(revision: number): Booked {
    const { grants, held, heldUntilMs } = this.#pockets;
    const isNeeded = grants.length > 0 || held > 0 || this.#lasting > 0;
    const counted = this.#isWorkedOut ? this.#value : this.#pockets.counted;
    const expiresAtMs = sooner(grants[0]?.expiresAtMs ?? 0, heldUntilMs);
    const state: AccountState = {
      kind: 'credits',
      value: this.#value,
      mark: this.#mark,
      dueAtMs: isNeeded ? sooner(this.#refillDueMs, expiresAtMs) : this.#refillDueMs,
      revision,
      base: this.#base,
      segmentMs: this.#segmentMs,
    };
    return { state, pockets: isNeeded ? { ...this.#pockets, counted } : null, lines: this.#lines };
  }

  /** Works out what was spent from each pocket since the last time. */
  #workOut(): void {
    if (this.#isWorkedOut) return;
    this.#isWorkedOut = true;
    const pockets = this.#pockets;
    if (pockets.grants.length > 0) this.#pockets = { ...this.#pockets, grants: leftOf(pockets, this.#value) };
    this.#addLasting(lastingOf(pockets, this.#value) - this.#lasting);
  }

  /** Takes an amount out of the pockets. The caller lowers the balance. */
  #take(amount: number): Taken {
    const own = this.#own;
    const { left, taken: grants, rest } = takeFrom(this.#pockets.grants, amount);
    this.#pockets = { ...this.#pockets, grants: left };
    const lasting = Math.max(0, rest - own);
    this.#addLasting(-lasting);
    return { grants, own: rest - lasting, ...(lasting === 0 ? {} : { lasting }) };
  }

  #addLasting(by: number): void {
    if (by === 0) return;
    const { lasting: _before, ...others } = this.#pockets;
    const lasting = this.#lasting + by;
    this.#pockets = { ...others, ...(lasting === 0 ? {} : { lasting }) };
  }

  #addGrant(grant: Grant): void {
    this.#pockets = { ...this.#pockets, grants: withGrant(this.#pockets.grants, grant) };
  }

  #addHeld(amount: number, own: number): void {
    const held = this.#pockets.held + amount;
    const heldUntilMs = held === 0 ? 0 : this.#pockets.heldUntilMs;
    this.#pockets = { ...this.#pockets, held, heldOwn: this.#pockets.heldOwn + own, heldUntilMs };
  }

  /** A movement that is not a spend. */
  #move(movement: Partial<Movements>, by: number): void {
    this.#keepBaseInBounds(by);
    this.#value += by;
    this.#base += by;
    this.#note(movement, by);
  }

  /** The base also contains what the running line has spent. A new line begins before the base and what is held exceed 2^53-1. */
  #keepBaseInBounds(by: number): void {
    if (by > MAX_COUNT - this.#base - this.#pockets.held) this.#begin(0, this.#mark);
  }

  /** Adds a movement to the running line, after the balance has changed by it. */
  #note(movement: Partial<Movements>, by: number): void {
    this.#write({ ...NO_MOVEMENTS, ...movement }, this.#base + this.#pockets.held - by);
  }

  /** A day and a period without any movement have no line. */
  #closeLine(): void {
    const spent = this.#base - this.#value;
    const { held } = this.#pockets;
    if (spent > 0 || held > 0) this.#write({ ...NO_MOVEMENTS, spent }, this.#base + held);
    this.#base = this.#value;
  }

  #write(movements: Movements, opening: number): void {
    const { held } = this.#pockets;
    const [startMs, periodMs] = [this.#segmentMs, this.#mark];
    const line = { startMs, periodMs, opening, ...movements, closing: this.#value + held, held };
    const last = this.#lines.at(-1);
    if (last?.startMs === startMs) this.#lines.splice(-1, 1, joinedLine(last, line));
    else this.#lines.push(line);
  }

  #begin(startMs: number, mark: number): void {
    this.#closeLine();
    this.#segmentMs = Math.max(startMs, this.#segmentMs + 1);
    this.#mark = mark;
  }

  #beginDay(atMs: number): void {
    const startMs = dayStartOf(atMs);
    if (startMs > dayStartOf(this.#segmentMs)) this.#begin(startMs, this.#mark);
  }
}
