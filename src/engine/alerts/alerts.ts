import { creditsBelowOf } from '../../core/alerts.ts';
import { heldCredits } from '../../core/plan.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { touchAccounts } from '../admin/change/counters.ts';
import { idsAround } from '../admin/readKeys.ts';
import type { CreditNotice, LimitNotice, Notices } from './notices.ts';
import { planOf } from '../planOf.ts';
import type { NewEvent, ToldCredits, UntoldRefill } from '../../storage/port/events.ts';
import type { KeyWithIdentity, Records } from '../../storage/port/records.ts';
import type { ReadAccount } from '../../storage/port/storage.ts';

/** Notices that are looked up together. */
const CREDITS_STEP = 200;
/** Balances or limits that are told of at the same time. */
const TOGETHER = 16;
/** Accounts that the recheck looks at in one step, and steps of one run. */
const RECHECK_STEP = 1_000;
const RECHECK_STEPS = 10;

/** Something that an event can tell of a balance. */
interface News {
  readonly type: 'credits.low' | 'credits.exhausted';
  /** It may be told again once the balance has risen to this. */
  readonly below: number;
  /** It is true while the balance is at most this. */
  readonly atMost: number;
}

/**
 * Tells of balances that are low or used up.
 *
 *   noticed by a verdict, or found by the recheck --the balance is still that low, and was not told of--> told
 *   told --the balance rises to `below`--> as if it was never told (storage/sql/creditWrites.ts)
 *
 * The event, and the row that says it was told, are one change, which also locks the account and looks at its balance. So it is told once
 * by all nodes, and never of a balance that has risen meanwhile.
 */
export class TellCredits {
  readonly #context: AdminContext;
  readonly #notices: Notices;
  /** The last account that the recheck has looked at. */
  #rechecked = 0;
  #isStopped = false;

  constructor(context: AdminContext, notices: Notices) {
    this.#context = context;
    this.#notices = notices;
  }

  /** Tells of what verdicts have shown. */
  async run(): Promise<void> {
    for (let left = this.#notices.creditsSize; left > 0; left -= CREDITS_STEP) {
      const taken = this.#notices.takeCredits(Math.min(left, CREDITS_STEP));
      try {
        const untold = await this.#untold(taken);
        const isDone = await this.#tellAll(untold);
        // Something came in between. The next run looks again.
        this.#notices.putBackCredits(untold.filter((_, i) => isDone[i] === false));
      } catch (error) {
        this.#notices.putBackCredits(taken);
        throw error;
      }
    }
  }

  /** Checks the next accounts for balances that nobody has noticed: a node may have ended before it could tell of them. */
  async recheck(): Promise<void> {
    this.#isStopped = false;
    for (let step = 0; step < RECHECK_STEPS && !this.#isStopped; step++) {
      const { owners, last } = await this.#context.storage.told.recheck(this.#rechecked, RECHECK_STEP);
      await this.#tellAll(owners.map((owner) => ({ owner, refusedAt: null })));
      this.#rechecked = last ?? 0;
      if (last === null) return;
    }
  }

  /** Ends a recheck after its present step. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Most notices are of balances that were told of before. One read finds that out for all. */
  async #untold(notices: readonly CreditNotice[]): Promise<readonly CreditNotice[]> {
    const told = await this.#context.storage.told.credits(notices.map(({ account }) => account));
    return notices.filter(({ account, left, tellsBelow, refusedAt }) => {
      return newsOf(left, tellsBelow > 1 ? tellsBelow : null, refusedAt).some((news) => !isTold(news, account, told));
    });
  }

  /** Answers for each what `#tell` answers. */
  async #tellAll(notices: readonly Pick<CreditNotice, 'owner' | 'refusedAt'>[]): Promise<boolean[]> {
    const isDone: boolean[] = [];
    for (let i = 0; i < notices.length; i += TOGETHER) {
      const some = notices.slice(i, i + TOGETHER);
      // One that cannot be told of is left for the next time, and holds up no other.
      const told = await Promise.allSettled(some.map(({ owner, refusedAt }) => this.#tell(owner, refusedAt)));
      isDone.push(...told.map((each) => each.status === 'fulfilled' && each.value));
    }
    return isDone;
  }

  /** False: the account, its record or what was told of it has changed meanwhile, and nothing was told. */
  async #tell(owner: string, refusedAt: number | null): Promise<boolean> {
    const { storage, refills, events, changes } = this.#context;
    const found = await this.#find(owner);
    if (found === null) return true;
    const { account, credits, creditsBelow, revision, ids } = found;
    const nowMs = storage.ledger.nowMs();
    const remaining = refills.balance(account, credits.refill, nowMs);
    const told = await storage.told.credits([credits.account]);
    const news = newsOf(remaining, creditsBelow, refusedAt).filter((each) => !isTold(each, credits.account, told));
    if (news.length === 0) return true;
    return changes.tryOnce({
      writes: news.map(({ type, below }) => ({ kind: 'tellCredits', account: credits.account, type, below })),
      accounts: [
        {
          account: credits.account,
          owner,
          expect: revision,
          refill: credits.refill === null ? null : refills.planFrom(credits.refill, account.mark, nowMs),
          atMost: Math.min(...news.map(({ atMost }) => atMost)),
          revision,
        },
      ],
      events: news.map(({ type, below }) => {
        return events.make(type, ids, { remaining, ...(type === 'credits.low' ? { threshold: below } : {}) });
      }),
    });
  }

  /** The holder, and its account after all that is due. */
  async #find(owner: string): Promise<(CreditHolder & { readonly account: ReadAccount }) | null> {
    const { records, ledger } = this.#context.storage;
    for (const isSettled of [false, true]) {
      const holder = await findCreditHolder(records, owner);
      if (holder === null) return null;
      const [account] = await ledger.read([holder.credits.account]);
      if (account === undefined) return null;
      const isDue = account.dueAtMs !== 0 && ledger.nowMs() >= account.dueAtMs;
      if (!isDue || isSettled) return { ...holder, account };
      await this.#context.dueCredits.settle(owner);
    }
    return null;
  }
}

/** What there is to tell of a balance. `refusedAt`: a verification was refused while this was left. */
function newsOf(balance: number, creditsBelow: number | null, refusedAt: number | null): News[] {
  const news: News[] = [];
  if (creditsBelow !== null && balance < creditsBelow) {
    news.push({ type: 'credits.low', below: creditsBelow, atMost: creditsBelow - 1 });
  }
  if (balance === 0) news.push({ type: 'credits.exhausted', below: 1, atMost: 0 });
  else if (refusedAt !== null && balance <= refusedAt) {
    // `below: 0`: any rise of the balance ends it. A balance of 0 is another piece of news, with `below: 1`.
    news.push({ type: 'credits.exhausted', below: 0, atMost: refusedAt });
  }
  return news;
}

function isTold({ type, below }: News, account: number, told: readonly ToldCredits[]): boolean {
  return told.some((each) => each.account === account && each.type === type && each.below === below);
}

/** A key or identity that has a balance. What is metered has none. */
interface CreditHolder {
  readonly credits: HeldCredits;
  readonly revision: number;
  /** The threshold of `credits.low`; null = none. */
  readonly creditsBelow: number | null;
  /** The records that an event about its credits names. */
  readonly ids: Readonly<Record<string, string>>;
}

/** null: it was deleted, or has no credits any more. */
function findCreditHolder(records: Records, owner: string): Promise<CreditHolder | null> {
  return owner.startsWith('key_') ? findKeyHolder(records, owner) : findIdentityHolder(records, owner);
}

async function findKeyHolder(records: Records, keyId: string): Promise<CreditHolder | null> {
  const found = await records.findKey(keyId);
  if (found === null || 'poisoned' in found || found.key.credits === null || found.key.credits.metered) return null;
  const { apiId, planId, revision, alerts } = found.key;
  const plan = await planOf(records, found.key);
  const credits = heldCredits(found.key.credits, plan) as HeldCredits;
  const externalId = found.identity?.externalId ?? null;
  const ids = { keyId, apiId, ...(externalId === null ? {} : { externalId }), ...(planId === null ? {} : { planId }) };
  return { credits, revision, creditsBelow: creditsBelowOf(alerts, plan), ids };
}

async function findIdentityHolder(records: Records, identityId: string): Promise<CreditHolder | null> {
  const found = await records.findIdentityById(identityId);
  if (found === null || found.credits === null || found.credits.metered) return null;
  const { externalId, planId, revision, alerts } = found;
  const plan = await planOf(records, found);
  const credits = heldCredits(found.credits, plan) as HeldCredits;
  const ids = { identityId, externalId, ...(planId === null ? {} : { planId }) };
  return { credits, revision, creditsBelow: creditsBelowOf(alerts, plan), ids };
}

/** Tells of limits that have refused a verification. A row for each limit remembers its last window, so of many nodes one tells. */
export class TellLimits {
  readonly #context: AdminContext;
  readonly #notices: Notices;

  constructor(context: AdminContext, notices: Notices) {
    this.#context = context;
    this.#notices = notices;
  }

  async run(): Promise<void> {
    for (let left = this.#notices.limitsSize; left > 0; left -= TOGETHER) {
      const taken = this.#notices.takeLimits(Math.min(left, TOGETHER));
      try {
        await Promise.all(taken.map((notice) => this.#tell(notice)));
      } catch (error) {
        this.#notices.putBackLimits(taken);
        throw error;
      }
    }
  }

  async #tell(notice: LimitNotice): Promise<void> {
    const { changes, events } = this.#context;
    const { owner, name, limit, durationMs, async, resetAtMs, ids } = notice;
    const facts = { name, limit, duration: durationMs, async, reset: resetAtMs };
    // What is refused was told of by another node.
    await changes.tryOnce({
      writes: [{ kind: 'tellLimit', owner, name, durationMs, resetAtMs }],
      accounts: [],
      events: [events.make('limit.reached', ids, facts)],
    });
    this.#notices.toldLimit(notice);
  }
}

/** Refills of one step. They are told of in one commit. */
const REFILLS_STEP = 100;

/**
 * Tells of refills, from the lines that they have left in the statements. A line is marked in the commit of its event. If another node was
 * there first, nothing of the step is written, and the next run finds what is left.
 */
export class TellRefills {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async run(): Promise<void> {
    const { storage, changes } = this.#context;
    for (;;) {
      const found = await storage.told.untoldRefills(REFILLS_STEP);
      if (found.length === 0) return;
      const wasTold = await changes.tryOnce({
        writes: [
          { kind: 'tellRefills', lines: found.map(({ account, line }) => ({ account, startMs: line.startMs })) },
        ],
        accounts: [],
        events: found.flatMap((refill) => this.#eventOf(refill)),
      });
      if (!wasTold || found.length < REFILLS_STEP) return;
    }
  }

  /** No event tells of credits whose owner was deleted. */
  #eventOf({ owner, apiId, externalId, planId, line }: UntoldRefill): NewEvent[] {
    if (owner === null) return [];
    const ids = {
      [apiId === null ? 'identityId' : 'keyId']: owner,
      ...(apiId === null ? {} : { apiId }),
      ...(externalId === null ? {} : { externalId }),
      ...(planId === null ? {} : { planId }),
    };
    const { opening, refilled, held, startMs } = line;
    const facts = { refilled, remaining: opening + refilled - held, refilledAt: startMs };
    return [this.#context.events.make('credits.refilled', ids, facts)];
  }
}

/** Keys of one step. */
const EXPIRING_STEP = 100;

/**
 * Tells once of each key that it is about to expire (`alerts.expiresWithinMs`). The key notes for which expiry it was told, in the
 * transaction that writes the event. So it is told again when the expiry is moved, and of two nodes one tells.
 */
export class ExpiringKeys {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async run(): Promise<void> {
    const { records, ledger } = this.#context.storage;
    for (;;) {
      const found = await records.listExpiringKeys(ledger.nowMs(), EXPIRING_STEP);
      let told = 0;
      for (const each of found) if (!('poisoned' in each) && (await this.#tell(each))) told++;
      // Keys that cannot be read or changed now wait for the next run.
      if (found.length < EXPIRING_STEP || told === 0) return;
    }
  }

  async #tell({ key: before, identity }: KeyWithIdentity): Promise<boolean> {
    const { changes, storage, events } = this.#context;
    const former = await storage.records.listFormerSecrets([before.id]);
    const key = { ...before, toldExpiryMs: before.expiresAtMs, revision: before.revision + 1 };
    const formerDigests = former.map(({ digest }) => digest);
    const ids = { keyId: key.id, ...idsAround(key, identity) };
    return changes.tryOnce({
      writes: [{ kind: 'updateKey', key, expect: before.revision, formerDigests }],
      accounts: touchAccounts(before, key.revision),
      events: [events.make('key.expiring', ids, { expires: key.expiresAtMs })],
    });
  }
}
