import { canShareCommit } from '../../port/lockOrder.ts';
import { type Change, type ChangeOutcome, StorageUnavailable } from '../../port/storage.ts';
import { asUnavailable, isStorageError, kindOf, reasonOf } from '../connection/databaseError.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { IS_MOVED, refuseMoved, SHARE_MOVE_LOCK } from '../connection/movedFence.ts';
import { pauseBeforeRetry, type Pool } from '../connection/pool.ts';
import { applyTogether, SomeMisfit, Stale } from './changeTransaction.ts';
import type { SqlWriter, WriteStatement } from '../../sql/query/statement.ts';

/** The most changes of one group. This bounds how long the last one waits for the first. */
const MAX_GROUP = 64;
/** The most records, accounts, audit entries and events of a change that can join a group. A larger change would delay the others. */
const MAX_ROWS = 100;
/** How long a group waits for a row that another transaction holds. After that, the change that needs it waits alone. */
const LOCK_WAIT_MS = 100;
/** How often a change is tried if it collides with another transaction. */
const MAX_TRIES = 3;

interface GroupsContext {
  readonly pool: Pool;
  readonly clock: LedgerClock;
  readonly random: () => number;
}

interface Waiting {
  readonly change: Change;
  readonly outcome: PromiseWithResolvers<ChangeOutcome>;
}

/**
 * Changes that wait while others commit share the next commit. One number counts all changes of an installation, and a transaction keeps
 * this number locked until its commit is flushed. So changes in separate transactions would commit one after the other.
 *
 *   waiting --the group before is through--> in a group of all that wait, which is one transaction
 *   in a group --done--> answered after the commit
 *   in a group --that does not fit its accounts--> answered; the others are a group again
 *   in a group --the transaction is undone--> in a half of the group, until it is alone
 *   alone --refused--> answered as stale
 *   alone --a row is held, or another transaction was in the way--> in a transaction of its own, which no group waits for
 *   in a group --the connection is lost--> answered as failed, or as unknown once the commit was sent
 */
export class ChangeGroups {
  readonly #context: GroupsContext;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(context: GroupsContext) {
    this.#context = context;
  }

  /** `change` shares no account and no locked record with another change that is not answered yet. */
  apply(change: Change): Promise<ChangeOutcome> {
    if (!canJoin(change)) return this.#applyAlone(change, 1);
    const outcome = Promise.withResolvers<ChangeOutcome>();
    this.#waiting.push({ change, outcome });
    if (!this.#isRunning) void this.#run();
    return outcome.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // All changes of this turn of the event loop join the first group.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#applyGroup(this.#waiting.splice(0, MAX_GROUP));
    this.#isRunning = false;
  }

  /** Never rejects. */
  async #applyGroup(group: readonly Waiting[]): Promise<void> {
    const { pool, clock } = this.#context;
    const changes = group.map(({ change }) => change);
    try {
      const outcomes = await pool.use((ask, askAll) =>
        applyTogether({ ask, askAll }, changes, { clock, lockWaitMs: LOCK_WAIT_MS }),
      );
      for (const [i, { outcome }] of group.entries()) outcome.resolve(outcomes[i] as ChangeOutcome);
    } catch (error) {
      await this.#fail(group, error);
    }
  }

  async #fail(group: readonly Waiting[], error: unknown): Promise<void> {
    const [only] = group;
    if (error instanceof SomeMisfit) {
      const others = group.filter((_, i) => error.misfits[i] === null);
      for (const [i, { outcome }] of group.entries()) {
        const misfit = error.misfits[i] ?? null;
        if (misfit !== null) outcome.resolve(misfit);
      }
      if (others.length > 0) await this.#applyGroup(others);
    } else if (!isUndone(error)) {
      for (const { outcome } of group) outcome.reject(asFailure(error));
    } else if (only !== undefined && group.length === 1) {
      only.outcome.resolve(isRefused(error) ? this.#stale() : this.#applyAlone(only.change, 2));
    } else {
      const middle = Math.ceil(group.length / 2);
      await this.#applyGroup(group.slice(0, middle));
      await this.#applyGroup(group.slice(middle));
    }
  }

  async #applyAlone(change: Change, firstTry: number): Promise<ChangeOutcome> {
    const { pool, clock, random } = this.#context;
    for (let tries = firstTry; ; tries++) {
      try {
        if (tries > 1) await pauseBeforeRetry(tries - 1, random);
        const outcomes = await pool.use((ask, askAll) =>
          applyTogether({ ask, askAll }, [change], { clock, lockWaitMs: null }),
        );
        return outcomes[0] as ChangeOutcome;
      } catch (error) {
        if (isRefused(error)) return (error instanceof SomeMisfit ? error.misfits[0] : null) ?? this.#stale();
        if (isStorageError(error) || kindOf(error) !== 'rolled back' || tries >= MAX_TRIES) throw asFailure(error);
      }
    }
  }

  #stale(): ChangeOutcome {
    return { status: 'stale', nowMs: this.#context.clock.nowMs() };
  }
}

function canJoin({ writes, accounts, entries = [], events = [] }: Change): boolean {
  return writes.length + accounts.length + entries.length + events.length <= MAX_ROWS && canShareCommit(writes);
}

/** The change itself was refused. Another try may succeed. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof Stale || error instanceof SomeMisfit || (!isStorageError(error) && kindOf(error) === 'refused')
  );
}

/** Nothing was done; one of several changes may be the reason. */
function isUndone(error: unknown): boolean {
  return isRefused(error) || (!isStorageError(error) && ['busy', 'rolled back'].includes(kindOf(error)));
}

function asFailure(error: unknown): Error {
  if (isStorageError(error)) return error;
  return new StorageUnavailable(`A database query failed (${reasonOf(error)}); nothing was changed.`);
}

/** A statement changed a wrong number of rows. */
class Refused extends Error {}

export class PostgresWriter implements SqlWriter {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  write(statements: readonly WriteStatement[]): Promise<readonly number[] | null> {
    return asUnavailable(
      this.#pool.use(async (ask) => {
        try {
          const begun = await ask(`BEGIN; ${SHARE_MOVE_LOCK}; SELECT ${IS_MOVED} AS moved`);
          // Several statements, several results; the type of the driver knows of one.
          refuseMoved((begun as unknown as readonly { rows: { moved: boolean }[] }[]).at(-1)?.rows[0]?.moved);
          const counts: number[] = [];
          for (const { sql, onPostgres, params, expects } of statements) {
            const { rowCount } = await ask({ text: onPostgres ?? sql, values: params });
            if (expects !== null && rowCount !== expects) throw new Refused();
            counts.push(rowCount ?? 0);
          }
          await ask('COMMIT');
          return counts;
        } catch (error) {
          const wasRefused = error instanceof Refused || kindOf(error) === 'refused';
          if (wasRefused || isStorageError(error) || kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
          if (wasRefused) return null;
          throw error;
        }
      }),
    );
  }

  /** A separate transaction, because one that held several rows could deadlock with a change of all of them. */
  async share(statement: WriteStatement): Promise<number> {
    return (await this.write([statement]))?.[0] ?? 0;
  }
}
