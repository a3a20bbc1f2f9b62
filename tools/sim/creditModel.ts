/**
 * What happens to credits, told a second time: everything at its instant, in the order of time, one thing after the other. It shares no
 * code with the product, and knows no ledger, no marks and no sweep.
 */

export const HOUR_MS = 3_600_000;

/** `everyMs`: an hour or a day, in UTC. */
export interface Rule {
  readonly everyMs: number;
  readonly mode: 'restore' | 'add';
  readonly amount: number;
  readonly max: number | null;
}

export interface ModelPlan {
  readonly remaining: number | null;
  readonly versions: { readonly fromMs: number; readonly rule: Rule | null }[];
}

interface Grant {
  left: number;
  readonly expiresAtMs: number;
}

interface Account {
  own: number;
  grants: Grant[];
  /** Granted, and without an expiry: spent last. */
  lasting: number;
  readonly isMetered: boolean;
  ofPlan: boolean;
  /** Boundaries after this instant are still to come. */
  fromMs: number;
  /** All that was ever charged. */
  spent: number;
}

interface Part {
  readonly account: Account;
  readonly grants: readonly Grant[];
  readonly own: number;
  readonly lasting: number;
}

export interface ModelReservation {
  readonly id: string;
  readonly cost: number;
  readonly expiresAtMs: number;
  readonly onExpiry: 'release' | 'charge';
  readonly parts: readonly Part[];
  state: 'held' | 'settled' | 'released' | 'expired';
  charged: number;
  returned: number;
  settledCost: number | null;
}

export type Balance = 'keep' | 'upgrade' | 'reset';

export interface ModelHolder {
  readonly name: string;
  account: Account | null;
  rule: Rule | null;
  planId: string | null;
  move: { readonly planId: string | null; readonly atMs: number; readonly balance: Balance } | null;
  /** Of all accounts that it had. */
  spent: number;
}

export class CreditModel {
  readonly plans = new Map<string, ModelPlan>();
  readonly reservations = new Map<string, ModelReservation>();
  readonly #held = new Set<ModelReservation>();
  readonly holders = new Set<ModelHolder>();
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  add(name: string): ModelHolder {
    const holder: ModelHolder = { name, account: null, rule: null, planId: null, move: null, spent: 0 };
    this.holders.add(holder);
    return holder;
  }

  /** Time goes on, and everything happens that comes by itself. At one instant: grants end, then moves and refills, then reservations. */
  advance(toMs: number): void {
    for (;;) {
      const next = this.#next(toMs);
      if (next === null) break;
      this.#nowMs = next.atMs;
      next.happen();
    }
    this.#nowMs = toMs;
  }

  #next(untilMs: number): { readonly atMs: number; readonly happen: () => void } | null {
    let best: { atMs: number; rank: number; happen: () => void } | null = null;
    const offer = (atMs: number, rank: number, happen: () => void): void => {
      if (atMs > untilMs) return;
      if (best === null || atMs < best.atMs || (atMs === best.atMs && rank < best.rank)) best = { atMs, rank, happen };
    };
    for (const holder of this.holders) {
      const { account, move } = holder;
      for (const grant of account?.grants ?? []) {
        offer(grant.expiresAtMs, 0, () => account?.grants.splice(account.grants.indexOf(grant), 1));
      }
      if (move !== null) offer(move.atMs, 1, () => this.#carryOut(holder));
      const boundary = this.#nextBoundary(holder);
      // The refill at the instant of a move is part of the move.
      if (boundary !== null && boundary.atMs < (move?.atMs ?? Infinity)) {
        offer(boundary.atMs, 1, () => {
          this.#refill(holder, boundary.rule);
          if (account !== null) account.fromMs = boundary.atMs;
        });
      }
    }
    for (const reservation of this.#held) {
      const { cost, onExpiry, expiresAtMs } = reservation;
      offer(expiresAtMs, 2, () => this.#end(reservation, 'expired', onExpiry === 'charge' ? cost : 0));
    }
    return best;
  }

  rulesOf(holder: ModelHolder): ModelPlan['versions'] {
    if (holder.account === null || holder.account.isMetered) return [];
    if (holder.rule !== null) return [{ fromMs: 0, rule: holder.rule }];
    return holder.planId === null ? [] : (this.plans.get(holder.planId)?.versions ?? []);
  }

  #nextBoundary(holder: ModelHolder): { readonly atMs: number; readonly rule: Rule } | null {
    const versions = this.rulesOf(holder);
    for (const [i, { fromMs, rule }] of versions.entries()) {
      if (rule === null) continue;
      const afterMs = Math.max(fromMs, holder.account?.fromMs ?? 0);
      const atMs = (Math.floor(afterMs / rule.everyMs) + 1) * rule.everyMs;
      if (atMs <= (versions[i + 1]?.fromMs ?? Infinity)) return { atMs, rule };
    }
    return null;
  }

  /** When its credits are refilled next, as the rule that is in force now says; null = never. */
  nextRefillMs(holder: ModelHolder): number | null {
    const rule = this.rulesOf(holder).findLast(({ fromMs }) => fromMs <= this.#nowMs)?.rule ?? null;
    return rule === null ? null : (Math.floor(this.#nowMs / rule.everyMs) + 1) * rule.everyMs;
  }

  #refill({ account }: ModelHolder, { mode, amount, max }: Rule): void {
    if (account === null) return;
    const whole = account.own + this.#heldOwn(account);
    const wanted = mode === 'restore' ? amount : Math.min(max ?? Infinity, whole + amount);
    account.own += Math.max(0, wanted - whole);
  }

  #carryOut(holder: ModelHolder): void {
    const { move } = holder;
    if (move === null) return;
    holder.move = null;
    const kept = this.#join(holder, move.planId, move.balance);
    if (!kept || holder.account === null || holder.account.isMetered) return;
    const rule = this.rulesOf(holder).findLast(({ fromMs }) => fromMs <= this.#nowMs)?.rule ?? null;
    if (rule !== null) this.#refill(holder, rule);
    this.#begin(holder, move.balance);
  }

  /** False: the account was closed or opened by this. */
  #join(holder: ModelHolder, planId: string | null, balance: Balance): boolean {
    holder.planId = planId;
    const remaining = planId === null ? null : (this.plans.get(planId)?.remaining ?? null);
    if (holder.account === null) {
      if (remaining !== null) this.open(holder, remaining, { ofPlan: true });
      return false;
    }
    if (holder.account.ofPlan && remaining === null) {
      const isLeft = balance === 'upgrade' && this.value(holder.account) > holder.account.own;
      if (isLeft) Object.assign(holder.account, { own: 0, ofPlan: false, fromMs: this.#nowMs });
      else this.close(holder);
      return false;
    }
    holder.account.fromMs = this.#nowMs;
    return true;
  }

  #begin({ account, planId }: ModelHolder, balance: Balance): void {
    const remaining = planId === null ? null : (this.plans.get(planId)?.remaining ?? null);
    if (remaining === null || account === null) return;
    if (balance === 'reset') Object.assign(account, { own: remaining, grants: [], lasting: 0 });
    if (balance === 'upgrade') account.own = remaining;
  }

  assign(holder: ModelHolder, planId: string | null, balance: Balance): void {
    holder.move = null;
    if (this.#join(holder, planId, balance) && holder.account?.isMetered === false) this.#begin(holder, balance);
  }

  open(holder: ModelHolder, own: number, { ofPlan = false, isMetered = false } = {}): void {
    holder.account = { own, grants: [], lasting: 0, isMetered, ofPlan, fromMs: this.#nowMs, spent: 0 };
  }

  close(holder: ModelHolder): void {
    if (holder.account === null) return;
    // What was metered and is held cannot be settled any more: it counts as used.
    holder.spent += holder.account.spent + (holder.account.isMetered ? this.heldOf(holder.account) : 0);
    holder.account = null;
    holder.rule = null;
  }

  setRule(holder: ModelHolder, rule: Rule | null): void {
    holder.rule = rule;
    if (holder.account !== null) holder.account.fromMs = this.#nowMs;
  }

  value({ own, grants, lasting }: Account): number {
    return own + lasting + grants.reduce((sum, { left }) => sum + left, 0);
  }

  heldOf(account: Account): number {
    return this.#heldParts(account).reduce((sum, { cost }) => sum + cost, 0);
  }

  #heldOwn(account: Account): number {
    return this.#heldParts(account).reduce((sum, { part }) => sum + part.own, 0);
  }

  #heldParts(account: Account): { readonly cost: number; readonly part: Part }[] {
    return [...this.#held].flatMap(({ cost, parts }) =>
      parts.filter((part) => part.account === account).map((part) => ({ cost, part })),
    );
  }

  #set(account: Account, value: number): void {
    this.#change(account, value - this.value(account));
  }

  set(holder: ModelHolder, value: number): void {
    if (holder.account === null) this.open(holder, value);
    else {
      holder.account.ofPlan = false;
      this.#set(holder.account, value);
    }
  }

  /** Adds, or takes as far as there is something. Answers the balance. */
  adjust({ account }: ModelHolder, by: number): number {
    if (account === null) return NaN;
    this.#change(account, account.isMetered ? by : Math.max(by, -this.value(account)));
    return this.value(account);
  }

  #change(account: Account, by: number): void {
    if (by >= 0 || account.isMetered) account.own += by;
    else this.#take(account, -by);
  }

  grant({ account }: ModelHolder, amount: number, expiresAtMs: number | null): number {
    if (account === null) return NaN;
    if (expiresAtMs === null) account.lasting += amount;
    else this.#addGrant(account, { left: amount, expiresAtMs });
    return this.value(account);
  }

  #addGrant(account: Account, grant: Grant): void {
    account.grants = [...account.grants, grant].sort((a, b) => a.expiresAtMs - b.expiresAtMs);
  }

  /** Grants that expire first, the soonest first; lasting ones last. */
  #take(account: Account, amount: number): Part {
    let rest = amount;
    const taken: Grant[] = [];
    for (const grant of account.grants) {
      const part = Math.min(rest, grant.left);
      if (part > 0) taken.push({ left: part, expiresAtMs: grant.expiresAtMs });
      grant.left -= part;
      rest -= part;
    }
    account.grants = account.grants.filter(({ left }) => left > 0);
    const lasting = account.isMetered ? 0 : Math.max(0, rest - account.own);
    account.own -= rest - lasting;
    account.lasting -= lasting;
    return { account, grants: taken, own: rest - lasting, lasting };
  }

  /** All of them or none. */
  spend(holders: readonly ModelHolder[], cost: number): boolean {
    const accounts = holders.flatMap(({ account }) => account ?? []);
    if (accounts.some((account) => !account.isMetered && this.value(account) < cost)) return false;
    for (const account of accounts) {
      this.#take(account, cost);
      account.spent += cost;
    }
    return true;
  }

  reserve(
    id: string,
    holders: readonly ModelHolder[],
    terms: Pick<ModelReservation, 'cost' | 'expiresAtMs' | 'onExpiry'>,
  ): boolean {
    const accounts = holders.flatMap(({ account }) => account ?? []);
    if (accounts.some((account) => !account.isMetered && this.value(account) < terms.cost)) return false;
    const parts = accounts.map((account) => this.#take(account, terms.cost));
    const made: ModelReservation = { ...terms, id, parts, state: 'held', charged: 0, returned: 0, settledCost: null };
    this.reservations.set(id, made);
    this.#held.add(made);
    return true;
  }

  settle(id: string, cost: number, allowOverage: boolean): 'done' | 'too much' | 'ended' {
    const reservation = this.reservations.get(id);
    if (reservation === undefined || reservation.state !== 'held') return 'ended';
    if (cost > reservation.cost && !allowOverage) return 'too much';
    this.#end(reservation, 'settled', cost);
    reservation.settledCost = cost;
    return 'done';
  }

  release(id: string): 'done' | 'ended' {
    const reservation = this.reservations.get(id);
    if (reservation === undefined || reservation.state !== 'held') return 'ended';
    this.#end(reservation, 'released', 0);
    return 'done';
  }

  #end(reservation: ModelReservation, state: 'settled' | 'released' | 'expired', wanted: number): void {
    const live = new Set([...this.holders].map(({ account }) => account));
    const parts = reservation.parts.filter(({ account }) => live.has(account));
    reservation.state = state;
    this.#held.delete(reservation);
    if (parts.length === 0) return;
    const held = Math.min(wanted, reservation.cost);
    const returned = parts.map((part) => this.#giveBack(part, held));
    const spendable = parts.map(({ account }) => (account.isMetered ? Infinity : this.value(account)));
    const more = Math.max(0, Math.min(wanted - held, ...spendable));
    for (const { account } of parts) {
      this.#take(account, more);
      account.spent += held + more;
    }
    reservation.charged = held + more;
    reservation.returned = Math.min(...returned);
  }

  /** Charged is first what came from grants. What had come from a grant that has expired is lost. */
  #giveBack({ account, grants, own, lasting }: Part, charged: number): number {
    let rest = charged;
    let returned = 0;
    for (const { left, expiresAtMs } of grants) {
      const kept = Math.min(rest, left);
      rest -= kept;
      if (left === kept || expiresAtMs <= this.#nowMs) continue;
      this.#addGrant(account, { left: left - kept, expiresAtMs });
      returned += left - kept;
    }
    const ofLasting = Math.max(0, rest - own);
    account.own += own - (rest - ofLasting);
    account.lasting += lasting - ofLasting;
    return returned + own + lasting - rest;
  }
}
