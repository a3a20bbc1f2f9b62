import type { ChargeRule, RefillStep } from '../../../core/account.ts';
import { MAX_COUNT, MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../core/bounds.ts';
import type { ChargeResult, Spend, SpendOutcome } from '../../../core/spend.ts';
import { type RefusalCause, StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { IS_OWN_SESSION, sessionOf } from '../connection/ownSession.ts';
import { pauseBeforeRetry } from '../connection/pool.ts';
import type { LastSeenChange } from '../freshness/freshness.ts';
import { plainBatchOf } from './plainBatch.ts';
import { type Batch, type BatchOutcome } from './batch.ts';
import { BatchRefused, BatchUndone, type Committer } from './committer.ts';
import type { ContendedAccounts, Queue, QueuedSpend } from './queue.ts';
import type { PlannedBatch } from './chooseBatch.ts';
import { BatchFences } from './fences.ts';
import type { Management } from '../management/management.ts';
import { CHARGE_RULE, STATUS, STEP_MODE } from '../schema/spendFunctions.ts';

const HELD_TOO_LONG = 'Another database transaction has locked the counter for too long; nothing was spent.';
/** How long a failure stays visible if it does not recur. */
const SHOW_FAILURE_MS = 3_000;
/** How often a batch that was not done is sent again. */
const MAX_TRIES = 5;

export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  refused(reason: string): void;
}

interface RunnerContext {
  readonly queue: Queue;
  readonly contended: ContendedAccounts;
  readonly clock: LedgerClock;
  readonly lastSeenChange: LastSeenChange;
  readonly management: Pick<Management, 'forgetWindow'>;
  readonly observe: LedgerObserver;
  readonly random: () => number;
  readonly monotonicMs: () => number;
}

/** The result of a batch: the spends that go back to the head of the queue, and the answers to the others. */
interface Returned {
  readonly putBack: readonly QueuedSpend[];
  readonly answers: readonly (() => void)[];
}

type SpendBatch = Pick<PlannedBatch<QueuedSpend, Committer>, 'committer' | 'form' | 'items' | 'waits'>;

/**
 * Sends a batch and reads the outcome of each spend:
 *   done            answered
 *   busy            another node holds a row: back to the queue, its accounts are contended for a while
 *   needs general   back to the queue, for a general batch
 *   fence broken    answered as stale; the other spends of the batch are sent again at once, without new ones, whose fences may
 *                   be broken too
 *   batch undone    back to the queue a few times, each after a pause
 *   batch refused   the batch is halved until the spend at fault is alone
 */
export class BatchRunner {
  readonly #context: RunnerContext;
  #lastFailure: Error | null = null;
  #failedAtMs = -Infinity;

  constructor(context: RunnerContext) {
    this.#context = context;
  }

  /** Why the last batch failed. It becomes null after a while, because a node that is not ready gets no spends that could clear it. */
  get recentFailure(): string | null {
    return this.#recent?.message ?? null;
  }

  /** Why the database refused it permanently. */
  get recentRefusal(): RefusalCause | null {
    return this.#recent instanceof StorageUnavailable ? this.#recent.refusedFor : null;
  }

  get #recent(): Error | null {
    return this.#context.monotonicMs() - this.#failedAtMs < SHOW_FAILURE_MS ? this.#lastFailure : null;
  }

  /** Never rejects. */
  async run(batch: SpendBatch): Promise<Returned> {
    const startedAtMs = this.#context.monotonicMs();
    const { committer, form, items, waits } = batch;
    try {
      const spends = items.map(({ spend }) => spend);
      const fences = new BatchFences(spends, this.#context.lastSeenChange);
      const sent = form === 'plain' ? plainBatchOf(spends, fences) : batchOf(spends, fences);
      const outcomes = await committer.run(sent, waits);
      fences.noteCompared(outcomes);
      this.#lastFailure = null;
      this.#context.observe.committed(items.length, this.#context.monotonicMs() - startedAtMs);
      return await this.#read(batch, outcomes, startedAtMs);
    } catch (error) {
      return this.#fail(batch, error as Error);
    }
  }

  async #read(batch: SpendBatch, outcomes: readonly BatchOutcome[], startedAtMs: number): Promise<Returned> {
    const putBack: QueuedSpend[] = [];
    const unbroken: QueuedSpend[] = [];
    const settled: (readonly [QueuedSpend, BatchOutcome | undefined])[] = [];
    for (const [i, item] of batch.items.entries()) {
      const outcome = outcomes[i];
      if (outcome === 'resend') unbroken.push(item);
      else if (outcome === 'needs general') {
        item.plainCharge = null;
        putBack.push(item);
      } else if (outcome === 'busy' && batch.waits !== 'first') {
        this.#context.contended.add(item.locks, this.#context.monotonicMs());
        putBack.push(item);
      } else settled.push([item, outcome]);
    }
    const answer = (): void => {
      for (const [item, outcome] of settled) this.#settle(item, outcome, startedAtMs);
    };
    const returned: Returned = { putBack, answers: [answer] };
    return unbroken.length === 0 ? returned : joined(returned, await this.run({ ...batch, items: unbroken }));
  }

  #settle(item: QueuedSpend, outcome: BatchOutcome | undefined, sentAtMs: number): void {
    const { queue, clock, management } = this.#context;
    if (typeof outcome === 'string') return queue.reject(item, new StorageUnavailable(HELD_TOO_LONG));
    if (outcome === undefined) return queue.reject(item, new Error('the database left a spend unanswered'));
    const { status } = outcome;
    // The spend may name another refill epoch than the database is in. The caller reads this clock and asks again at once.
    if (status === 'stale' || status === 'otherMark' || status === 'settleFirst')
      clock.keepWithin(sentAtMs, outcome.nowMs);
    if (status === 'stale' && outcome.fence === null)
      for (const { account } of item.spend.charges) management.forgetWindow(account);
    queue.answerSpend(item, outcome);
  }

  async #fail(batch: SpendBatch, error: Error): Promise<Returned> {
    if (error instanceof BatchRefused) return this.#halve(batch, error);
    if (!(error instanceof BatchUndone)) {
      this.#giveUp(batch.items, error);
      return { putBack: [], answers: [] };
    }
    const putBack = batch.items.filter(({ tries }) => tries < MAX_TRIES);
    const over = batch.items.filter(({ tries }) => tries >= MAX_TRIES);
    if (over.length > 0) {
      this.#giveUp(
        over,
        new StorageUnavailable(`The database reports an error (${error.message}); nothing was spent.`),
      );
    }
    let mostTries = 0;
    for (const item of putBack) mostTries = Math.max(mostTries, ++item.tries);
    if (mostTries > 0) await pauseBeforeRetry(mostTries, this.#context.random);
    return { putBack, answers: [] };
  }

  #giveUp(items: readonly QueuedSpend[], error: Error): void {
    const isStorageError = error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown;
    const told = isStorageError ? error : new StorageOutcomeUnknown(error.message);
    this.#lastFailure = told;
    this.#failedAtMs = this.#context.monotonicMs();
    this.#context.observe.refused(told.message);
    for (const item of items) this.#context.queue.reject(item, told);
  }

  /** Only a spend that fails alone is answered as failed. */
  async #halve(batch: SpendBatch, error: BatchRefused): Promise<Returned> {
    const { items } = batch;
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      this.#context.queue.answerSpend(only, { status: 'failed', reason: error.message });
      return { putBack: [], answers: [] };
    }
    const middle = Math.ceil(items.length / 2);
    const first = await this.run({ ...batch, items: items.slice(0, middle) });
    return joined(first, await this.run({ ...batch, items: items.slice(middle) }));
  }
}

function joined(first: Returned, second: Returned): Returned {
  return { putBack: [...first.putBack, ...second.putBack], answers: [...first.answers, ...second.answers] };
}

const STATEMENT = {
  name: 'spend',
  text: `SELECT ledger_spend_v1($1, $2, $3, $4, $5::bigint[], $6::int[], $7::int[], $8::bigint[], $9::bigint[], $10::int[],
    $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
    $16::int[], $17::bigint[], $18::bigint[], $19::bigint[],
    $20::int[], $21::int[], $22::text[], $23::text[], $24::text[], $25,
    $26::bigint[], $27::text[], $28::text[], $29::bigint[]) AS verdicts WHERE ${IS_OWN_SESSION}($30)`,
};

/** A batch of any spends: one call of ledger_spend_v1. */
function batchOf(spends: readonly Spend[], fences: BatchFences): Batch {
  const { ids, spendCharges, charges, steps, spendIdem, idemScope, idemId, idemDigest, scopes } = writeBatch(spends);
  const written = [ids, spendCharges, ...charges, ...steps, spendIdem, idemScope, idemId, idemDigest, scopes];
  const { kinds, ids: fenceIds, names, revisions } = fences.columns;
  const asked = [kinds, fenceIds, names, revisions];
  return {
    size: spends.length,
    async ask(client, { committer, number, waits, givenMs }) {
      const begun = [committer, number, waits !== 'never', givenMs];
      const values = [...begun, ...written, MAX_LIVE_IDEMPOTENCY_KEYS, ...asked, sessionOf(client)];
      const { rows } = await client.query<{ verdicts: string }>({ ...STATEMENT, values });
      return rows[0]?.verdicts ?? '';
    },
    read(text) {
      const numbers = text.split(',').map(Number);
      return fences.readBroken(numbers) ?? readVerdicts(numbers, spends);
    },
  };
}

interface BatchText {
  readonly ids: string;
  readonly spendCharges: string;
  /** Columns of the charges: position, amount, revision, rule, and the five numbers of the rule. */
  readonly charges: readonly string[];
  /** Columns of the steps of refills: mode, amount, maximum, times. */
  readonly steps: readonly string[];
  readonly spendIdem: string;
  readonly idemScope: string;
  readonly idemId: readonly string[];
  readonly idemDigest: readonly string[];
  readonly scopes: readonly string[];
}

function writeBatch(spends: readonly Spend[]): BatchText {
  const ids = [...new Set(spends.flatMap(({ charges }) => charges.map(({ account }) => account)))].sort(
    (a, b) => a - b,
  );
  const positionOf = new Map(ids.map((id, i) => [id, i + 1]));
  const scopes: string[] = [];
  const scopePosition = new Map<string, number>();
  const [idemScope, idemId, idemDigest, spendIdem]: [number[], string[], string[], number[]] = [[], [], [], []];
  const columns: number[][] = Array.from({ length: CHARGE_COLUMNS }, () => []);
  const steps: RefillStep[] = [];
  for (const spend of spends) {
    for (const charge of spend.charges) {
      const numbers = [
        positionOf.get(charge.account) ?? 0,
        charge.amount,
        charge.revision,
        ...ruleNumbers(charge.rule, steps),
      ];
      for (let i = 0; i < CHARGE_COLUMNS; i++) columns[i]?.push(numbers[i] ?? 0);
    }
    const { idempotency } = spend;
    if (idempotency === null) {
      spendIdem.push(0);
      continue;
    }
    let position = scopePosition.get(idempotency.scope);
    if (position === undefined) scopePosition.set(idempotency.scope, (position = scopes.push(idempotency.scope)));
    idemScope.push(position);
    idemDigest.push(idempotency.requestDigest);
    spendIdem.push(idemId.push(idempotency.id));
  }
  return {
    ids: `{${ids.join(',')}}`,
    spendCharges: `{${spends.map(({ charges: { length } }) => length).join(',')}}`,
    charges: columns.map((column) => `{${column.join(',')}}`),
    steps: stepColumns(steps),
    spendIdem: `{${spendIdem.join(',')}}`,
    idemScope: `{${idemScope.join(',')}}`,
    idemId,
    idemDigest,
    scopes,
  };
}

/** Position, amount, revision, and the rule with its five numbers. */
const CHARGE_COLUMNS = 9;

/** Adds the steps of a refill to those of the batch. */
function ruleNumbers(rule: ChargeRule, steps: RefillStep[]): number[] {
  if (rule.kind === 'window') return [CHARGE_RULE.window, rule.limit, rule.durationMs, 0, 0, 0];
  if (rule.refill === null) return [CHARGE_RULE.credits, 0, 0, 0, 0, 0];
  const { fromMs, startMs, nextMs } = rule.refill;
  const first = steps.length + 1;
  steps.push(...rule.refill.steps);
  return [CHARGE_RULE.refill, fromMs, startMs, nextMs, first, steps.length];
}

function stepColumns(steps: readonly RefillStep[]): string[] {
  const column = (of: (step: RefillStep) => number): string => `{${steps.map(of).join(',')}}`;
  return [
    column(({ mode }) => STEP_MODE[mode]),
    column(({ amount }) => amount),
    column(({ max }) => max ?? MAX_COUNT),
    column(({ times }) => times),
  ];
}

/** The outcomes, in the order of the spends. */
function readVerdicts(numbers: readonly number[], spends: readonly Spend[]): BatchOutcome[] {
  const nowMs = numbers[0] ?? 0;
  const outcomes: BatchOutcome[] = [];
  for (let at = 1; at < numbers.length;) {
    const [status, second = 0, count = 0] = numbers.slice(at, at + 3);
    at += 3;
    const charges: ChargeResult[] = [];
    for (let i = 0; i < count; i++, at += 2) charges.push({ left: numbers[at] ?? 0, resetAtMs: numbers[at + 1] ?? 0 });
    const misfit = status === STATUS.stale ? toMisfit(spends[outcomes.length], second, charges, nowMs) : null;
    outcomes.push(misfit ?? toOutcome(status ?? -1, second, charges, nowMs));
  }
  return outcomes;
}

/** The database names a charge, with its mark, when its refill begins at another mark or its credits have to be settled first. */
function toMisfit(
  spend: Spend | undefined,
  charge: number,
  [named]: readonly ChargeResult[],
  nowMs: number,
): SpendOutcome {
  const account = spend?.charges[charge]?.account;
  if (named === undefined || account === undefined) return { status: 'stale', nowMs, fence: null };
  if (named.resetAtMs === 1) return { status: 'settleFirst', nowMs, account };
  return { status: 'otherMark', nowMs, mark: { account, markMs: named.left } };
}

function toOutcome(status: number, second: number, charges: readonly ChargeResult[], nowMs: number): BatchOutcome {
  switch (status) {
    case STATUS.taken:
      return { status: 'taken', charges, nowMs, replayed: false };
    case STATUS.replayed:
      return { status: 'taken', charges, nowMs: second, replayed: true };
    case STATUS.refused:
      return { status: 'refused', by: second, charges, nowMs };
    case STATUS.conflict:
      return { status: 'conflict' };
    case STATUS.tooManyLive:
      return { status: 'tooManyLive' };
    case STATUS.busy:
      return 'busy';
    default:
      throw new Error(`the database answered the unknown status ${status}`);
  }
}
