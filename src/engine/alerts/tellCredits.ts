import type { ReadAccount } from '../../storage/port/storage.ts';
import type { ToldCredits } from '../../storage/port/told.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { type CreditHolder, findCreditHolder } from './holder.ts';
import type { CreditNotice, Notices } from './notices.ts';

/** Notices that are looked up together. */
const STEP = 200;
/** Balances that are told of at the same time. */
const TOGETHER = 16;
/** Accounts that the patrol looks at in one step, and steps of one run. */
const PATROL_STEP = 1_000;
const PATROL_STEPS = 10;

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
 *   noticed by a verdict, or found by the patrol --the balance is still that low, and was not told of--> told
 *   told --the balance rises to `below`--> as if it was never told (storage/sql/creditWrites.ts)
 *
 * The event, and the row that says it was told, are one change, which also locks the account and looks at its balance. So it is told once
 * by all nodes, and never of a balance that has risen meanwhile.
 */
export class TellCredits {
  readonly #context: AdminContext;
  readonly #notices: Notices;
  readonly #settle: (owner: string) => Promise<void>;
  /** The last account that the patrol has looked at. */
  #patrolled = 0;
  #isStopped = false;

  /** `settle` applies what is due to the credits of a key or identity. */
  constructor(context: AdminContext, notices: Notices, settle: (owner: string) => Promise<void>) {
    this.#context = context;
    this.#notices = notices;
    this.#settle = settle;
  }

  /** Tells of what verdicts have shown. */
  async run(): Promise<void> {
    for (let left = this.#notices.creditsSize; left > 0; left -= STEP) {
      const taken = this.#notices.takeCredits(Math.min(left, STEP));
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
  async patrol(): Promise<void> {
    this.#isStopped = false;
    for (let step = 0; step < PATROL_STEPS && !this.#isStopped; step++) {
      const { owners, last } = await this.#context.storage.told.patrol(this.#patrolled, PATROL_STEP);
      await this.#tellAll(owners.map((owner) => ({ owner, refusedAt: null })));
      this.#patrolled = last ?? 0;
      if (last === null) return;
    }
  }

  /** Ends a patrol after its present step. */
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
      await this.#settle(owner);
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
