import type { Client } from 'pg';

import { PRUNE_GRACE_MS, StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import type { Batch, BatchOutcome, Waits } from './batch.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { type Connector, withDeadline } from '../connection/connector.ts';
import { doubtOf } from '../connection/commitNotices.ts';
import { causeOf, ConnectionLost, isStorageError, kindOf, reasonOf, stateOf } from '../connection/databaseError.ts';
import { IS_MOVED, refuseMoved } from '../connection/movedFence.ts';
import { NO_COMMITTER, NUMBER_TAKEN } from '../schema/ledgerFunctions.ts';
import { Session } from '../connection/session.ts';
import { IS_OWN_SESSION, sessionOf } from '../connection/ownSession.ts';

/** How long a batch may take before its connection is given up. */
const BATCH_TIMEOUT_MS = 4_000;
/** How long a committer tries to learn the outcome of a batch; after that the outcome is unknown. */
const RESOLVE_WITHIN_MS = 8_000;
const RESOLVE_PAUSE_MS = 50;
/** A batch that waits for rows gives up after this. */
const LOCK_TIMEOUT_MS = 2_000;

/**
 * An older row is abandoned: it could be pruned while a batch is in flight, and then nobody could tell whether the batch was done. The age
 * counts from the creation of the row, because a batch that takes nothing leaves no trace in it.
 */
const ROW_LASTS_MS = PRUNE_GRACE_MS / 2;

const UNIQUE_VIOLATION = '23505';

/** The database refuses the batch because of one of its spends. Halving the batch finds the one at fault. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
}

/** The batch was not done, and may be sent again. */
export class BatchUndone extends Error {
  override readonly name = 'BatchUndone';
}

interface CommitterOptions {
  readonly clock: LedgerClock;
  readonly random: () => number;
  readonly monotonicMs: () => number;
}

/**
 * Sends one batch at a time on a connection that other committers may share. Every batch has a number, and leaves its number and its answer
 * in the committer's row of the database. If the connection breaks, that row shows whether the batch was done.
 */
export class Committer {
  readonly #session: Session;
  readonly #options: CommitterOptions;
  /** The id of the row; null = there is none yet, or the last batch is in doubt and its row is abandoned. */
  #id: number | null = null;
  #madeAtMs = 0;
  #number = 0;
  /** The server warned while a batch ran: its commit may not have waited for the standby as it should. */
  #doubt: string | null = null;

  private constructor(session: Session, options: CommitterOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Several committers share one connection: while the database works on one batch, the next one is already there. */
  static share(connector: Connector, count: number, options: CommitterOptions): Committer[] {
    const session: Session = new Session(connector, {
      pipeline: count > 1,
      settings: {
        plan_cache_mode: 'force_generic_plan',
        lock_timeout: String(LOCK_TIMEOUT_MS),
        // Set regardless of the database's default: a batch reads the clock after its locks, and must see what they guard.
        default_transaction_isolation: 'read committed',
        // Rows must be locked in the order of the ids, however few there are: otherwise two batches could wait for each other.
        enable_hashjoin: 'off',
        enable_mergejoin: 'off',
        enable_seqscan: 'off',
        // A plan that needs a disabled method has a high cost. Older servers would compile such statements, however small they are.
        jit: 'off',
      },
      timeoutMs: BATCH_TIMEOUT_MS,
      random: options.random,
      monotonicMs: options.monotonicMs,
      onOpen: async (client) => {
        client.on('notice', (notice) => {
          // The warning may be about a batch of any of them.
          for (const committer of committers) committer.#doubt ??= doubtOf(notice);
        });
      },
    });
    const committers: Committer[] = Array.from({ length: count }, () => new Committer(session, options));
    return committers;
  }

  /**
   * Resolves with the outcomes, in the order of the batch. Rejects with BatchUndone, BatchRefused or StorageUnavailable if nothing was
   * done, and with StorageOutcomeUnknown if it cannot learn what was done.
   */
  async run(batch: Batch, waits: Waits): Promise<BatchOutcome[]> {
    const client = await this.#session.client();
    const id = await this.#row(client);
    return this.#send(client, id, batch, waits);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #row(client: Client): Promise<number> {
    const nowMs = this.#options.monotonicMs();
    if (this.#id !== null && nowMs - this.#madeAtMs <= ROW_LASTS_MS) return this.#id;
    this.#doubt = null;
    try {
      const { rows } = await withDeadline(
        client,
        BATCH_TIMEOUT_MS,
        client.query<{ id: number }>(
          `INSERT INTO committers (id, used_at_ms)
            SELECT $1::bigint, ledger_now_v1($2) WHERE ${IS_OWN_SESSION}($3) AND NOT ${IS_MOVED} RETURNING id`,
          // Random, so that no other node can ever have had this id, whatever the database has lost.
          [Math.floor(this.#options.random() * 2 ** 53), this.#options.clock.givenMs, sessionOf(client)],
        ),
      );
      if (this.#doubt !== null) throw new ConnectionLost(this.#doubt);
      refuseMoved(rows.length === 0);
      this.#id = rows[0]?.id ?? 0;
      this.#madeAtMs = nowMs;
      this.#number = 0;
      return this.#id;
    } catch (error) {
      if (isStorageError(error)) throw error;
      this.#session.noteFailure(client, error);
      throw new StorageUnavailable(`A database query failed (${reasonOf(error)}); nothing was spent.`, causeOf(error));
    }
  }

  async #send(client: Client, id: number, batch: Batch, waits: Waits): Promise<BatchOutcome[]> {
    const number = ++this.#number;
    this.#doubt = null;
    try {
      const asked = batch.ask(client, { committer: id, number, waits, givenMs: this.#options.clock.givenMs });
      const answer = await withDeadline(client, BATCH_TIMEOUT_MS, asked);
      if (this.#doubt !== null) throw new ConnectionLost(this.#doubt);
      return readAll(answer, batch);
    } catch (error) {
      return this.#recover({ client, id, number, batch, waits }, error);
    }
  }

  async #recover({ client, id, number, batch, waits }: Sent, error: unknown): Promise<BatchOutcome[]> {
    const state = stateOf(error);
    // Another node has just spent under the same idempotency key, so the next try finds its answer.
    if (state === UNIQUE_VIOLATION) throw new BatchUndone(reasonOf(error));
    if (state === NO_COMMITTER || state === NUMBER_TAKEN) {
      this.#id = null;
      throw new BatchUndone('its committer needs a new row');
    }
    switch (kindOf(error)) {
      case 'lost': {
        this.#session.drop(client, reasonOf(error));
        const text = await this.#resolve(id, number);
        if (text === null) throw new BatchUndone(reasonOf(error));
        return readAll(text, batch);
      }
      case 'refused':
        throw new BatchRefused(reasonOf(error));
      case 'rolled back':
        this.#session.noteFailure(client, error);
        throw new BatchUndone(reasonOf(error));
      case 'busy':
        // The batch waits for no row, so someone must have locked the whole table.
        if (waits === 'never') throw refusal(error);
        // One row is held for too long, so the spends of the other rows no longer wait for it.
        return this.#send(client, id, batch, 'never');
      case 'readonly':
      case 'unable':
        this.#session.noteFailure(client, error);
        throw refusal(error);
    }
  }

  /** The answer of a batch that was done; null = it was not done and never will be. */
  async #resolve(id: number, number: number): Promise<string | null> {
    const untilMs = this.#options.monotonicMs() + RESOLVE_WITHIN_MS;
    let reason = '';
    while (this.#options.monotonicMs() < untilMs) {
      try {
        const { rows } = await this.#session.query<{ verdicts: string | null }>((session) => ({
          text: `SELECT ledger_resolve_v1($1, $2) AS verdicts WHERE ${IS_OWN_SESSION}($3)`,
          values: [id, number, session],
        }));
        const verdicts = rows[0]?.verdicts ?? null;
        // Checked afterwards, in a separate statement: a row that still exists also existed when the number was taken back.
        if (verdicts !== null || (await this.#hasRow(id))) return verdicts;
        // A move removes all rows, even if it fails or is released later. The batch may have been done before.
        reason = 'its answer is no longer there, as after an export with --move';
        break;
      } catch (error) {
        reason = reasonOf(error);
      }
      await new Promise((resolve) => setTimeout(resolve, this.#session.pauseMs + RESOLVE_PAUSE_MS));
    }
    // The batch may still be in flight and keeps its number, so this committer continues with another row.
    this.#id = null;
    throw new StorageOutcomeUnknown(`The database did not confirm whether this was done (${reason}).`);
  }

  async #hasRow(id: number): Promise<boolean> {
    const text = 'SELECT 1 FROM committers WHERE id = $1';
    const { rows } = await this.#session.query(() => ({ text, values: [id] }));
    return rows.length > 0;
  }
}

/** A batch that was sent. */
interface Sent {
  readonly client: Client;
  readonly id: number;
  readonly number: number;
  readonly batch: Batch;
  readonly waits: Waits;
}

function refusal(error: unknown): StorageUnavailable {
  const message = `The database refused the request (${reasonOf(error)}); nothing was spent.`;
  return new StorageUnavailable(message, causeOf(error));
}

/** The answer to this batch has an outcome for each spend. */
function readAll(text: string, batch: Batch): BatchOutcome[] {
  const outcomes = batch.read(text);
  if (outcomes.length === batch.size) return outcomes;
  throw new StorageOutcomeUnknown('The database sent the answer to another request.');
}
