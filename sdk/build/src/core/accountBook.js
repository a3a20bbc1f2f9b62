import { isOfAnotherMark, refillOf } from './account.js';
import { MAX_COUNT } from './bounds.js';
import { emptyPockets, leftOf, sooner, sumOf, takeFrom, withGrant } from './pockets.js';
import { dayStartOf, joinedLine } from './statement.js';
/**
 * The value that a metered account begins with. Every spend lowers it. What is shown is the value minus this number: -5 means that 5 were
 * used. Spends cannot use it up, because the cost of a verification is bounded (MAX_METERED_COST).
 */
export const METERED_ZERO = 2 ** 52;
const NO_MOVEMENTS = { granted: 0, refilled: 0, adjusted: 0, spent: 0, expired: 0 };
/**
 * One account of credits while something other than a plain spend happens to it. It keeps three things right together: the balance, the
 * pockets, and the lines of the statement. `upTo` comes first: it applies what has become due.
 */
export class AccountBook {
  #before;
  #pockets;
  #value;
  #base;
  #segmentMs;
  #mark;
  #refillDueMs;
  /** The pockets are those of the present balance. */
  #isWorkedOut = false;
  #lines = [];
  constructor(state, pockets) {
    this.#before = state;
    this.#value = state.value;
    this.#base = state.base;
    this.#segmentMs = state.segmentMs;
    this.#mark = state.mark;
    this.#refillDueMs = state.dueAtMs;
    this.#pockets = pockets ?? emptyPockets(state.value);
  }
  /** An account that is opened at this instant, with this value to begin with. */
  static open(atMs, mark, value) {
    const state = { kind: 'credits', value, mark, dueAtMs: 0, revision: 0, base: value, segmentMs: atMs };
    return new AccountBook(state, null);
  }
  get value() {
    return this.#value;
  }
  /** What can be spent without what expires. */
  get #own() {
    return this.#value - sumOf(this.#pockets.grants);
  }
  /** Applies the refills and the expiries up to now, in their order, and begins the line of the present day. */
  upTo(plan, nowMs) {
    const refillsAtMs = plan !== null && this.#mark < plan.startMs ? plan.startMs : null;
    for (const grant of this.#endedGrants(nowMs)) {
      if (refillsAtMs !== null && grant.expiresAtMs > refillsAtMs) this.#refill(plan);
      this.#expire(grant);
    }
    this.#refill(plan);
    this.#beginDay(nowMs);
    return this;
  }
  #endedGrants(nowMs) {
    if (this.#pockets.grants.every(({ expiresAtMs }) => expiresAtMs > nowMs)) return [];
    this.#workOut();
    return this.#pockets.grants.filter(({ expiresAtMs }) => expiresAtMs <= nowMs);
  }
  #expire(grant) {
    this.#beginDay(grant.expiresAtMs);
    this.#pockets = { ...this.#pockets, grants: this.#pockets.grants.filter((each) => each !== grant) };
    this.#move({ expired: grant.left }, -grant.left);
  }
  /** No boundary is applied twice. What a reservation holds counts as not spent: it does not bring a refill. */
  #refill(plan) {
    if (plan === null) return;
    if (this.#mark >= plan.startMs) {
      this.#refillDueMs = Math.max(this.#refillDueMs, plan.nextMs);
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
    this.#refillDueMs = plan.nextMs;
  }
  /** Adds to the balance, or takes from it as a spend would. The result stays within 0 and 2^53-1. */
  adjust(by) {
    this.#workOut();
    const most = MAX_COUNT - this.#pockets.held;
    const value = Math.min(most, Math.max(0, this.#value + by));
    const adjusted = value - this.#value;
    if (adjusted < 0) this.#take(-adjusted);
    if (adjusted !== 0) this.#move({ adjusted }, adjusted);
    return this;
  }
  set(value) {
    return this.adjust(value - this.#value);
  }
  /** Adds credits. With `expiresAtMs` they are a pocket of their own. */
  grant(id, amount, expiresAtMs) {
    this.#workOut();
    const granted = Math.min(amount, MAX_COUNT - this.#value - this.#pockets.held);
    if (expiresAtMs !== null) {
      this.#addGrant({ id, left: granted, expiresAtMs });
    }
    this.#move({ granted }, granted);
    return this;
  }
  /** Takes what a reservation holds. The balance must have it. */
  hold(amount, untilMs) {
    this.#workOut();
    const taken = this.#take(amount);
    this.#value -= amount;
    this.#base -= amount;
    this.#addHeld(amount, taken.own);
    this.#pockets = { ...this.#pockets, heldUntilMs: sooner(this.#pockets.heldUntilMs, untilMs) };
    return taken;
  }
  /**
   * Ends a reservation: what was not charged comes back, into the pockets it came from. An expired pocket gets nothing back. Answers how
   * much came back.
   */
  giveBack({ grants, own }, charged, nowMs) {
    this.#workOut();
    const { left, taken } = takeFrom(grants, charged);
    const lost = sumOf(left.filter(({ expiresAtMs }) => expiresAtMs <= nowMs));
    for (const grant of left) if (grant.expiresAtMs > nowMs) this.#addGrant(grant);
    const returned = sumOf(left) - lost + own - taken.own;
    this.#addHeld(-(sumOf(grants) + own), -own);
    this.#value += returned;
    this.#base += returned + charged;
    // Written even when nothing was lost: the row also stores what is held, and that is 0 now.
    if (lost > 0 || this.#pockets.held === 0) this.#note({ expired: lost }, -lost);
    return returned;
  }
  /** A spend of at most this amount. Answers how much it was. */
  spend(most) {
    this.#workOut();
    const amount = Math.min(most, this.#value);
    this.#take(amount);
    this.#value -= amount;
    return amount;
  }
  /** Gives the account another refill rule: a new period begins. */
  reschedule(mark, dueAtMs, nowMs) {
    if (mark !== undefined && mark !== this.#mark) this.#begin(nowMs, mark);
    if (dueAtMs !== undefined) this.#refillDueMs = dueAtMs;
    return this;
  }
  /** No reservation that expired before this instant is left; 0 = there is none. */
  heldUntil(atMs, nowMs) {
    const { held, heldUntilMs } = this.#pockets;
    // A reservation may have been made after the caller looked.
    const until = heldUntilMs > nowMs ? sooner(heldUntilMs, atMs) : atMs;
    this.#pockets = { ...this.#pockets, heldUntilMs: held === 0 ? 0 : until };
    return this;
  }
  /**
   * The last lines of an account that is closed. Its credits are gone. What was metered stays, and what reservations hold of it counts as
   * used: it can no longer be settled.
   */
  close(isMetered) {
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
  booked(revision) {
    const { grants, held, heldUntilMs } = this.#pockets;
    const isNeeded = grants.length > 0 || held > 0;
    const counted = this.#isWorkedOut ? this.#value : this.#pockets.counted;
    const expiresAtMs = sooner(grants[0]?.expiresAtMs ?? 0, heldUntilMs);
    const state = {
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
  #workOut() {
    if (this.#isWorkedOut) return;
    this.#isWorkedOut = true;
    if (this.#pockets.grants.length === 0) return;
    this.#pockets = { ...this.#pockets, grants: leftOf(this.#pockets, this.#value) };
  }
  /** Takes an amount out of the pockets. The caller lowers the balance. */
  #take(amount) {
    const { left, taken } = takeFrom(this.#pockets.grants, amount);
    this.#pockets = { ...this.#pockets, grants: left };
    return taken;
  }
  #addGrant(grant) {
    this.#pockets = { ...this.#pockets, grants: withGrant(this.#pockets.grants, grant) };
  }
  #addHeld(amount, own) {
    const held = this.#pockets.held + amount;
    const heldUntilMs = held === 0 ? 0 : this.#pockets.heldUntilMs;
    this.#pockets = { ...this.#pockets, held, heldOwn: this.#pockets.heldOwn + own, heldUntilMs };
  }
  /** A movement that is not a spend. */
  #move(movement, by) {
    this.#keepBaseInBounds(by);
    this.#value += by;
    this.#base += by;
    this.#note(movement, by);
  }
  /** The base also contains what the running line has spent. A new line begins before the base and what is held exceed 2^53-1. */
  #keepBaseInBounds(by) {
    if (by > MAX_COUNT - this.#base - this.#pockets.held) this.#begin(0, this.#mark);
  }
  /** Adds a movement to the running line, after the balance has changed by it. */
  #note(movement, by) {
    this.#write({ ...NO_MOVEMENTS, ...movement }, this.#base + this.#pockets.held - by);
  }
  /** A day and a period without any movement have no line. */
  #closeLine() {
    const spent = this.#base - this.#value;
    const { held } = this.#pockets;
    if (spent > 0 || held > 0) this.#write({ ...NO_MOVEMENTS, spent }, this.#base + held);
    this.#base = this.#value;
  }
  #write(movements, opening) {
    const { held } = this.#pockets;
    const [startMs, periodMs] = [this.#segmentMs, this.#mark];
    const line = { startMs, periodMs, opening, ...movements, closing: this.#value + held, held };
    const last = this.#lines.at(-1);
    if (last?.startMs === startMs) this.#lines.splice(-1, 1, joinedLine(last, line));
    else this.#lines.push(line);
  }
  #begin(startMs, mark) {
    this.#closeLine();
    this.#segmentMs = Math.max(startMs, this.#segmentMs + 1);
    this.#mark = mark;
  }
  #beginDay(atMs) {
    const startMs = dayStartOf(atMs);
    if (startMs > dayStartOf(this.#segmentMs)) this.#begin(startMs, this.#mark);
  }
}
