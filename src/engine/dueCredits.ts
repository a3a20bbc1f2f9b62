import type { AccountMark } from '../core/account.ts';
import type { AccountChange } from '../core/accountChange.ts';
import type { Epoch, Schedule } from '../core/calendar.ts';
import { heldRefill, runningEpoch, isMoveDue, planUntil, stepAt } from '../core/plan.ts';
import { sooner, lastingOf, leftOf } from '../core/expiringCredits.ts';
import type { OnPlan, RefillRules, CreditsRecord, PlanBalance } from '../core/records.ts';
import type { Reservation } from '../core/reservation.ts';
import type { EventMaker, SendChange } from './admin/change/applyChange.ts';
import type { ChargeCounts } from './analytics/openCounts.ts';
import { findHolder, planOf, type PlanHolder, type SettlesCredits } from './planOf.ts';
import type { RefillSchedules } from './refillSchedules.ts';
import type { PlanRecord } from '../model/plans.ts';
import {
  type DueCursor,
  type ExpiredReservation,
  type ReadAccount,
  type Storage,
  StorageUnavailable,
  type Change,
} from '../storage/port/storage.ts';
import type { RecordWrite } from '../storage/port/writes.ts';
import { auditEntry } from './admin/audit.ts';
import { type Actor, SYSTEM } from './admin/change/requireRight.ts';
import { closing, openedByPlan, startOf, touchAccounts } from './admin/change/counters.ts';

/** Keys of one step. SQLite writes them in one commit, and verifications continue between two steps. */
const STEP = 200;
/** On a shared database, which may be far away, each key is a transaction of its own. Management must not wait behind many. */
const SHARED_STEP = 2;
/** Reservations that are read, and ended, together. */
const RESERVATIONS_STEP = 100;
/** Steps of one run. */
const MAX_STEPS = 1_000;
/** How often one step is tried after another change came first. */
const MAX_TRIES = 20;
/** Holders that are brought up to an instant for each other's sake. */
const MAX_DEPTH = 50;

/** A key or identity, its credits, and what is due to them. */
interface Due extends WhatIsDue {
  readonly owner: string;
  readonly revision: number;
  readonly isDeleted: boolean;
  /** null = it has no credits. */
  readonly account: { readonly id: number; readonly state: ReadAccount } | null;
  readonly held: readonly Reservation[];
}

interface DueContext {
  readonly storage: Storage;
  readonly refills: RefillSchedules;
  readonly events: EventMaker;
  readonly sender: SendChange;
  /** Counts what reservations have charged; null = analytics are off. */
  readonly analytics: ChargeCounts | null;
}

/**
 * Brings credits up to the present: reservations and grants that have expired, refills, and moves to other plans, each as of its instant and
 * in the order of these instants. It is the only place that does. The ledger refuses any other change of credits as long as
 * a reservation that has expired is not ended, and `settle` comes first:
 *
 *   a spend, a change, the end of a reservation  --the ledger answers `settleFirst`--> settle, then again
 *   a reader                                     --a reservation has expired, or a move has come--> settle, then read again
 *   the sweep                                    settles what nobody uses, so that the table shows the same numbers as a verification
 *
 * Each step is a commit of its own, and names what it was planned for: the revision and the mark of the account, and its newest
 * reservation. So several nodes can settle the same credits at the same time, and one that stops in the middle leaves nothing half done.
 *
 * A reservation can hold credits of a key and of its identity. It ends in both at once, so both are brought up to its expiry first. That can
 * lead on to other holders, but never back to one that is there already.
 */
export class DueCredits implements SettlesCredits {
  readonly #storage: Storage;
  readonly #refills: RefillSchedules;
  readonly #events: EventMaker;
  /** Moves holders from plan to plan. */
  readonly moves: PlanMoves;
  readonly #analytics: ChargeCounts | null;
  readonly #step: number;
  /** The run of each owner that is being settled. */
  readonly #running = new Map<string, Promise<boolean>>();
  /** The run after that: of callers that asked when it had begun already. */
  readonly #next = new Map<string, Promise<boolean>>();
  #isStopped = false;

  constructor({ storage, refills, events, sender, analytics }: DueContext) {
    this.#storage = storage;
    this.#refills = refills;
    this.#events = events;
    this.moves = new PlanMoves({ storage, refills, sender });
    this.#analytics = analytics;
    this.#step = storage.localCounts.isShared ? SHARED_STEP : STEP;
  }

  /** Goes once over all accounts to which something is due. Answers how many it wrote. */
  async sweep(): Promise<number> {
    const dueUntilMs = this.#storage.ledger.nowMs();
    let written = 0;
    let after: DueCursor | null = null;
    while (!this.#isStopped) {
      const due = await this.#storage.ledger.listDue(dueUntilMs, this.#step, after);
      // Each owner by itself: one that fails holds up no other, and the next run finds it again.
      const results = await Promise.allSettled(due.map(({ owner }) => this.settle(owner)));
      written += results.filter((result) => result.status === 'fulfilled' && result.value).length;
      if (due.length < this.#step) break;
      after = due.at(-1) ?? null;
    }
    return written;
  }

  /** Goes once over all reservations that have expired, also those that hold no credits. */
  async endExpired(): Promise<void> {
    const { ledger, reservations } = this.#storage;
    const untilMs = ledger.nowMs();
    const failures: unknown[] = [];
    let after: Reservation | null = null;
    for (let steps = 0; steps < MAX_STEPS && !this.#isStopped; steps++) {
      const expired: readonly Reservation[] = await reservations.listExpired(untilMs, after, RESERVATIONS_STEP);
      failures.push(...(await this.#settleOwners(expired)));
      // What is left holds nothing, or its accounts are gone.
      const left = expired.length === 0 ? [] : await reservations.listExpired(untilMs, after, RESERVATIONS_STEP);
      if (left.length > 0) await this.#end(left.map((each) => this.#ending(each, [])));
      if (expired.length < RESERVATIONS_STEP) break;
      after = expired.at(-1) ?? null;
    }
    if (failures.length > 0) throw failures[0];
  }

  /** One that fails holds up no other. Answers why some have failed. */
  async #settleOwners(expired: readonly Reservation[]): Promise<unknown[]> {
    const owners = [...new Set(expired.flatMap(({ keyId, identityId }) => [keyId, identityId ?? []].flat()))];
    const failures: unknown[] = [];
    for (let i = 0; i < owners.length; i += this.#step) {
      const settled = await Promise.allSettled(owners.slice(i, i + this.#step).map((owner) => this.settle(owner)));
      for (const each of settled) if (each.status === 'rejected') failures.push(each.reason);
    }
    return failures;
  }

  /** Ends runs after their present step. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Applies all that is due to the credits of a key or identity at the moment of the call. False when there was nothing to write. It waits in
   * no queue of changes, because a change of the same holder may wait for it.
   */
  settle(owner: string): Promise<boolean> {
    const running = this.#running.get(owner);
    if (running === undefined) return this.#start(owner);
    const waiting = this.#next.get(owner);
    if (waiting !== undefined) return waiting;
    const next = running
      .catch(() => false)
      .then(() => {
        this.#next.delete(owner);
        return this.#start(owner);
      });
    this.#next.set(owner, next);
    return next;
  }

  #start(owner: string): Promise<boolean> {
    const run = this.#bring(owner, null, 0).finally(() => this.#running.delete(owner));
    this.#running.set(owner, run);
    return run;
  }

  /** Brings the credits of an owner up to an instant; null = the present. Answers whether it wrote anything. */
  async #bring(owner: string, untilMs: number | null, depth: number): Promise<boolean> {
    const nowMs = untilMs ?? this.#storage.ledger.nowMs();
    let isWritten = false;
    const maxTries = depth < MAX_DEPTH ? MAX_TRIES : 0;
    for (let [steps, tries] = [0, 0]; steps < MAX_STEPS && tries < maxTries; steps++, tries++) {
      const due = await this.#read(owner);
      const step = due === null ? null : nextDue(due, nowMs);
      if (due === null || step === null) return isWritten;
      if (step.kind === 'rest' && !this.#isLeft(due, untilMs)) return isWritten;
      if (!(await this.#take(step, due, { untilMs, depth }))) continue;
      isWritten = true;
      if (step.kind === 'rest') return true;
      tries = 0;
    }
    throw new StorageUnavailable(
      `The credits of ${owner} keep changing, so what is due to them could not be applied. Try again.`,
    );
  }

  /** False: something else came first, and all is read again. */
  #take(step: DueStep, due: Due, { untilMs, depth }: { untilMs: number | null; depth: number }): Promise<boolean> {
    switch (step.kind) {
      case 'refill':
        return this.#refill(due, step.atMs);
      case 'rest':
        return this.#refill(due, untilMs);
      case 'expire':
        return this.#expire(due, step.count, depth);
      case 'move':
        return this.moves.carryOut(due.owner, whenHeldEnds(due));
    }
  }

  /** Refills or grants that expire are left, or the sweep does not know yet when to look at the account. */
  #isLeft(due: Due, untilMs: number | null): boolean {
    if (due.account === null) return false;
    if (untilMs !== null) return isBehind(due, untilMs);
    const { dueAtMs } = due.account.state;
    if (dueAtMs === 0) return due.rules !== null && !due.isDeleted;
    const nowMs = this.#storage.ledger.nowMs();
    return nowMs >= dueAtMs || isBehind(due, nowMs);
  }

  /** Refills, and grants that expire, up to an instant; null = the present. */
  async #refill(due: Due, atMs: number | null): Promise<boolean> {
    const { ledger } = this.#storage;
    const { account, owner, revision, rules, markMs, movesAtMs, isDeleted } = due;
    if (account === null) return false;
    const plan = rules === null ? null : this.#refills.planFrom(rules, markMs, atMs ?? ledger.nowMs());
    const until = whenHeldEnds(due);
    const change: AccountChange = {
      account: account.id,
      owner,
      expect: revision,
      refill: plan,
      ...(atMs === null ? {} : { atMs }),
      dueAtMs: sooner(plan?.nextMs ?? 0, movesAtMs ?? 0),
      ...(until === undefined ? {} : { heldUntil: until }),
      ...(isDeleted ? { sleeps: true } : {}),
      revision,
    };
    return (await ledger.apply({ writes: [], accounts: [change] })).status === 'done';
  }

  /** Ends the first reservations. False: none of them could be ended. */
  async #expire({ owner, account, held }: Due, count: number, depth: number): Promise<boolean> {
    const own = account === null ? [] : [markOf(account)];
    const ending: { readonly reservation: Reservation; readonly marks: readonly AccountMark[] }[] = [];
    let other: Due | null = null;
    for (const reservation of held.slice(0, count)) {
      const otherId = holdsOnly(reservation, account?.id) ? null : otherOwnerOf(reservation, owner);
      const { expiresAtMs } = reservation;
      if (otherId !== null && other?.owner !== otherId) other = await this.#read(otherId);
      if (otherId !== null && other !== null && isBehind(other, expiresAtMs)) {
        // What comes before ends first.
        if (ending.length > 0) break;
        await this.#bring(otherId, expiresAtMs, depth + 1);
        other = await this.#read(otherId);
      }
      const others = otherId === null || other === null || other.account === null ? [] : [markOf(other.account)];
      ending.push({ reservation, marks: [...own, ...others] });
    }
    const strays = await this.#straysOf(ending);
    return this.#end(ending.map(({ reservation, marks }) => this.#ending(reservation, [...marks, ...strays])));
  }

  /** The marks of accounts that are there although nobody who can be read holds them: nothing but an expiry can be due to them. */
  async #straysOf(
    ending: readonly { readonly reservation: Reservation; readonly marks: readonly AccountMark[] }[],
  ): Promise<readonly AccountMark[]> {
    const ids = ending.flatMap(({ reservation: { parts }, marks }) =>
      parts.flatMap((part) =>
        part.taken === null || marks.some(({ account }) => account === part.account) ? [] : part.account,
      ),
    );
    if (ids.length === 0) return [];
    const states = await this.#storage.ledger.read(ids);
    return ids.flatMap((id, i) => {
      const state = states[i];
      return state === undefined ? [] : markOf({ id, state });
    });
  }

  async #end(ending: readonly ExpiredReservation[]): Promise<boolean> {
    const ended = await this.#storage.ledger.expireReservations(ending);
    for (const each of ended) this.#analytics?.countCharged(each);
    return ended.length > 0;
  }

  /** No event tells of a reservation that held nothing. The ledger adds what was charged. */
  #ending(reservation: Reservation, marks: readonly AccountMark[]): ExpiredReservation {
    const { id: reservationId, keyId, identityId, cost, onExpiry, expiresAtMs, parts } = reservation;
    const ids = { reservationId, keyId, ...(identityId === null ? {} : { identityId }) };
    const facts = { cost, onExpiry, expiresAt: expiresAtMs };
    const event = parts.length === 0 ? null : this.#events.make('reservation.expired', ids, facts);
    return { reservation, marks, event };
  }

  /** null: it is gone, and holds nothing. */
  async #read(owner: string): Promise<Due | null> {
    const { records, ledger, reservations } = this.#storage;
    const holder = await findHolder(records, owner);
    if (holder === null) return this.#readWithoutHolder(owner);
    const { credits, planMove, revision } = holder.record;
    // The account before its reservations: if one is made in between, it is another `newest` than that of the account.
    const [state] = credits === null ? [] : await ledger.read([credits.account]);
    const isHeld = (state?.pockets?.held ?? 0) > 0;
    const held = isHeld ? await reservations.listHeld(owner, RESERVATIONS_STEP) : [];
    const plan = await planOf(records, holder.record);
    const isDeleted = holder.kind === 'key' && holder.record.deletedAtMs !== null;
    // A deleted key holds no plan. Where its plans are gone, it stays as it is.
    const isStuck = isDeleted && planMove !== null && !(await this.#canMove(holder.record, plan));
    return {
      owner,
      revision,
      isDeleted,
      account: credits === null || state === undefined ? null : { id: credits.account, state },
      markMs: state?.mark ?? 0,
      rules: heldRefill(credits, plan),
      movesAtMs: isStuck ? null : (planMove?.atMs ?? null),
      held,
    };
  }

  /** A key of a deleted api, or one that cannot be read. Its reservations end all the same: they may hold credits of an identity, too. */
  async #readWithoutHolder(owner: string): Promise<Due | null> {
    const held = await this.#storage.reservations.listHeld(owner, RESERVATIONS_STEP);
    if (held.length === 0) return null;
    return { owner, revision: 0, isDeleted: true, account: null, markMs: 0, rules: null, movesAtMs: null, held };
  }

  async #canMove({ planId, planMove }: OnPlan, plan: PlanRecord | null): Promise<boolean> {
    const target = planMove?.planId ?? null;
    const isThere = target === null || (await this.#storage.records.findPlan(target)) !== null;
    return isThere && (planId === null || plan !== null);
  }
}

/** A refill or a move up to this instant is not applied yet. */
function isBehind({ markMs, rules, movesAtMs }: Due, untilMs: number): boolean {
  if (movesAtMs !== null && movesAtMs <= untilMs) return true;
  return rules !== null && markMs < runningEpoch(rules, untilMs).startMs;
}

/** When the next reservation expires, of an account that had some when it was read. */
function whenHeldEnds({ account, held }: Due): AccountChange['heldUntil'] {
  const pockets = account?.state.pockets;
  if (pockets === undefined || pockets.held === 0) return undefined;
  return { atMs: held[0]?.expiresAtMs ?? 0, newest: pockets.newest };
}

function markOf({ id, state }: { readonly id: number; readonly state: ReadAccount }): AccountMark {
  return { account: id, markMs: state.mark };
}

/** It holds credits of no other account. */
function holdsOnly({ parts }: Reservation, account: number | undefined): boolean {
  return parts.every((part) => part.taken === null || part.account === account);
}

function otherOwnerOf({ keyId, identityId }: Reservation, owner: string): string | null {
  return owner === keyId ? identityId : keyId;
}

/** What can happen to the credits of a holder by itself. */
interface WhatIsDue {
  /** Up to where refills are applied. */
  readonly markMs: number;
  readonly rules: RefillRules | null;
  /** When the holder moves to another plan; null = it does not. */
  readonly movesAtMs: number | null;
  /** Reservations that are held, soonest expiry first. */
  readonly held: readonly { readonly expiresAtMs: number }[];
}

/**
 * What comes next:
 *
 *   refill  all refills up to that of this instant, before something else happens
 *   expire  so many reservations, with no refill and no move before or between them
 *   move    to another plan. The refill at the instant of the move is part of it
 *   rest    only refills and grants that expire are left. They can be applied together
 */
type DueStep =
  | { readonly kind: 'refill'; readonly atMs: number }
  | { readonly kind: 'expire'; readonly count: number }
  | { readonly kind: 'move' }
  | { readonly kind: 'rest' };

/**
 * The order in which things happen to credits. At the same instant a move and a refill come first: a reservation that expires at midnight
 * ends in the new day.
 */
export function nextDue(
  { markMs, rules, movesAtMs, held }: WhatIsDue,
  untilMs: number,
  epochAt?: (schedule: Schedule, atMs: number) => Epoch,
): DueStep {
  const endsAtMs = dueBy(held[0]?.expiresAtMs, untilMs);
  const moveMs = dueBy(movesAtMs ?? undefined, untilMs);
  if (endsAtMs === Infinity && moveMs === Infinity) return { kind: 'rest' };
  const epoch = rules === null ? null : runningEpoch(rules, Math.min(endsAtMs, moveMs - 1), epochAt);
  if (epoch !== null && markMs < epoch.startMs) return { kind: 'refill', atMs: epoch.startMs };
  if (moveMs <= endsAtMs) return { kind: 'move' };
  const beforeMs = Math.min(untilMs + 1, moveMs, epoch?.nextMs ?? Infinity);
  const after = held.findIndex(({ expiresAtMs }) => expiresAtMs >= beforeMs);
  return { kind: 'expire', count: after === -1 ? held.length : after };
}

function dueBy(atMs: number | undefined, untilMs: number): number {
  return atMs !== undefined && atMs <= untilMs ? atMs : Infinity;
}

/** When the next reservation of an account expires, as `settle` has read it. */
type HeldUntil = AccountChange['heldUntil'];

/** A move that was put off until the next refill, which has come. */
interface DelayedMove {
  readonly atMs: number;
  readonly heldUntil: HeldUntil;
}

interface Move {
  readonly from: PlanRecord | null;
  readonly to: PlanRecord | null;
  readonly balance: PlanBalance;
  /** null = it happens now. */
  readonly delayed: DelayedMove | null;
}

interface PlanMovesContext {
  readonly storage: Storage;
  readonly refills: RefillSchedules;
  readonly sender: SendChange;
}

/** Moves holders from plan to plan. A holder refers to its plan and copies nothing of it. */
export class PlanMoves {
  readonly #context: PlanMovesContext;

  constructor(context: PlanMovesContext) {
    this.#context = context;
  }

  /**
   * Carries out the move of an identity or a key whose time has come, as of that time. False: another change came first. Only `settle` calls
   * it, after all that happened to the credits before.
   */
  async carryOut(holderId: string, heldUntil: HeldUntil): Promise<boolean> {
    const { storage, sender } = this.#context;
    const before = await findHolder(storage.records, holderId);
    const move = before?.record.planMove ?? null;
    if (before === null || move === null || !isMoveDue(before.record, storage.ledger.nowMs())) return false;
    const [from, to] = [await planOf(storage.records, before.record), await planOf(storage.records, move)];
    const delayed = { atMs: move.atMs, heldUntil };
    const { change } = await this.draft(SYSTEM, before, { from, to, balance: move.balance, delayed });
    return (await sender.send(change)).status === 'done';
  }

  /** The change that moves a holder. */
  async draft(actor: Actor, before: PlanHolder, move: Move): Promise<{ change: Change; after: PlanHolder }> {
    const { record } = before;
    const { credits, accounts: moved } = await movedCredits(this.#context, record, move);
    const planId = move.to?.id ?? null;
    const updatedAtMs = this.#context.storage.ledger.nowMs();
    const after = withFields(before, { planId, planMove: null, credits, updatedAtMs });
    const touched = touchAccounts({ ...record, credits: null }, after.record.revision);
    const accounts = [...moved, ...touched];
    return { change: await this.written(actor, { before, after, accounts, plan: move.to }), after };
  }

  /** The records and the audit entry of an assignment. */
  async written(actor: Actor, { before, after, accounts, plan }: Assigned): Promise<Change> {
    const { planId, planMove, credits } = after.record;
    const entry = auditEntry(actor, {
      action: `${before.kind}.assignPlan`,
      target: before.record.id,
      before: { planId: before.record.planId, planMove: before.record.planMove },
      after: { planId, planMove },
      ids: before.kind === 'key' ? { apiId: before.record.apiId } : { externalId: before.record.externalId },
      counter: accounts.findIndex(({ account }) => account === (credits ?? before.record.credits)?.account),
    });
    const join = plan === null ? [] : [{ kind: 'joinPlan', planId: plan.id, expect: plan.revision } as const];
    return { writes: [await this.#writeOf(after, before.record.revision), ...join], accounts, entries: [entry] };
  }

  async #writeOf(after: PlanHolder, expect: number): Promise<RecordWrite> {
    if (after.kind === 'identity') return { kind: 'updateIdentity', identity: after.record, expect };
    const former = await this.#context.storage.records.listFormerSecrets([after.record.id]);
    return { kind: 'updateKey', key: after.record, expect, formerDigests: former.map(({ digest }) => digest) };
  }
}

interface Assigned {
  readonly before: PlanHolder;
  readonly after: PlanHolder;
  readonly accounts: readonly AccountChange[];
  /** The plan that it joins, now or later; null = none. */
  readonly plan: PlanRecord | null;
}

type ChangedFields = Partial<Pick<PlanHolder['record'], 'planId' | 'planMove' | 'credits' | 'updatedAtMs'>>;

export function withFields(holder: PlanHolder, fields: ChangedFields): PlanHolder {
  const changed = { ...fields, revision: holder.record.revision + 1 };
  return holder.kind === 'key'
    ? { kind: 'key', record: { ...holder.record, ...changed } }
    : { kind: 'identity', record: { ...holder.record, ...changed } };
}

interface MovedCredits {
  readonly credits: CreditsRecord | null;
  /** Empty: the holder has no counter, neither before nor after. That of the credits comes first. */
  readonly accounts: readonly AccountChange[];
}

/** The credits of a holder that moves from plan to plan. They get the next revision of the holder. */
async function movedCredits(
  { storage, refills }: PlanMovesContext,
  { id: owner, credits, revision: expect }: PlanHolder['record'],
  { from, to, balance, delayed }: Move,
): Promise<MovedCredits> {
  const atMs = delayed?.atMs ?? storage.ledger.nowMs();
  const revision = expect + 1;
  const remaining = to?.remaining ?? null;
  const opened = to === null ? null : openedByPlan(to, { id: owner, revision: expect }, atMs);
  const open = async (closed: readonly AccountChange[]): Promise<MovedCredits> => {
    if (opened === null) return { credits: null, accounts: closed };
    const made = opened((await storage.ledger.reserveAccounts(1))[0] ?? 0);
    return { credits: made.credits, accounts: [{ ...made.account, ...(delayed === null ? {} : { atMs }) }, ...closed] };
  };
  if (credits === null) return open([]);
  const { account } = credits;
  const common = { account, owner, expect, revision, ...(delayed === null ? {} : asOf(delayed)) };
  const isOther = opened === null || (credits.metered === true) !== (to?.metered === true);
  const isBought = opened === null && balance === 'upgrade' && (await hasGrants(storage, account, atMs));
  if (credits.ofPlan && isOther && !isBought) {
    return open([{ ...closing(credits, owner, expect, revision), ...common }]);
  }
  if (credits.metered) return { credits, accounts: [{ ...common, refill: null }] };
  // What was granted outlives the plan, in a counter of the holder's own.
  const isLeft = credits.ofPlan === true && isBought;
  const kept: CreditsRecord = isLeft ? { account, refill: credits.refill } : credits;
  const [old, next] = [heldRefill(credits, from), heldRefill(kept, to)];
  const set = isLeft ? { setOwn: 0 } : remaining === null ? {} : setFor(balance, remaining);
  if (delayed === null) {
    const refill = refills.planOrNull(old, account, atMs);
    const start = isSameSource(credits, from, to) ? {} : startOf(next, atMs);
    return { credits: kept, accounts: [{ ...common, refill, ...set, ...start }] };
  }
  const [state] = await storage.ledger.read([account]);
  const until = planUntil(old, state?.mark ?? 0, atMs - 1);
  // The refill at which it moves is one of the new plan, also where that has other boundaries.
  const steps = [...until.steps, ...(next === null ? [] : stepAt(next, atMs))];
  const refill = { ...until, startMs: atMs, steps };
  return { credits: kept, accounts: [{ ...common, refill, ...set, ...startAfter(next, atMs) }] };
}

/** Something is left of what was granted. */
async function hasGrants({ ledger }: Storage, account: number, atMs: number): Promise<boolean> {
  const [state] = await ledger.read([account]);
  if (state?.pockets == null) return false;
  const left = leftOf(state.pockets, state.value).some(({ expiresAtMs }) => expiresAtMs > atMs);
  return left || lastingOf(state.pockets, state.value) > 0;
}

function setFor(balance: PlanBalance, remaining: number): Pick<AccountChange, 'reset' | 'setOwn'> {
  if (balance === 'reset') return { reset: remaining };
  return balance === 'upgrade' ? { setOwn: remaining } : {};
}

function asOf({ atMs, heldUntil }: DelayedMove): Pick<AccountChange, 'atMs' | 'heldUntil'> {
  return { atMs, ...(heldUntil === undefined ? {} : { heldUntil }) };
}

/** Its refill comes from the same rules as before. */
function isSameSource({ refill }: CreditsRecord, from: PlanRecord | null, to: PlanRecord | null): boolean {
  return refill !== null || from?.id === to?.id;
}

/** All boundaries up to the instant of a move count as applied. */
function startAfter(rules: RefillRules | null, atMs: number): { mark: number; dueAtMs: number } {
  return { mark: atMs, dueAtMs: startOf(rules, atMs).dueAtMs };
}
