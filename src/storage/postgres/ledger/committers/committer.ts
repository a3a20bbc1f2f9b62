import type { Client } from 'pg';

import { StorageOutcomeUnknown, StorageUnavailable } from '../../../port/storage.ts';
import type { Batch, BatchOutcome, Waits } from '../batch.ts';
import type { LedgerClock } from '../ledgerClock.ts';
import { type Connector, withDeadline } from '../../connection/connector.ts';
import { doubtOf } from '../../connection/commitNotices.ts';
import { ConnectionLost, kindOf, reasonOf, stateOf } from '../../connection/databaseError.ts';
import { NO_COMMITTER, NUMBER_TAKEN } from '../../schema/ledgerFunctions.ts';
import { Session } from '../../connection/session.ts';

/** How long a batch may take before its connection is given up. */
const BATCH_TIMEOUT_MS = 4_000;
/** How long it is tried to learn what became of a batch; then its outcome is unknown. */
const RESOLVE_WITHIN_MS = 8_000;
const RESOLVE_PAUSE_MS = 50;
/** A lane that waits for rows gives up after this. */
const LOCK_TIMEOUT_MS = 2_000;

const UNIQUE_VIOLATION = '23505';

/** The batch was refused as it is: with fewer spends in it, the one at fault is found. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
}

/** The batch was not done, and may be sent again at once. */
export class BatchUndone extends Error {
  override readonly name = 'BatchUndone';
}

export interface CommitterOptions {
  readonly clock: LedgerClock;
  readonly random: () => number;
  readonly monotonicMs: () => number;
}

/**
 * One batch at a time on a connection for spends, which other lanes may share. Every batch has a number and leaves its answer in the lane's row of the
 * database: when the connection breaks, the row tells whether the batch was done.
 */
export class Committer {
  readonly #session: Session;
  readonly #options: CommitterOptions;
  /** The row; null when there is none yet, or the last one is in doubt and left behind. */
  #id: number | null = null;
  #number = 0;
  /** Said by the server while a batch ran: its commit may not have been waited for by a standby as it should have been. */
  #doubt: string | null = null;

  private constructor(session: Session, options: CommitterOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Several on one connection: while the database works on a batch, the next one is there already. */
  static share(connector: Connector, count: number, options: CommitterOptions): Committer[] {
    const session: Session = new Session(connector, {
      pipeline: count > 1,
      settings: {
        plan_cache_mode: 'force_generic_plan',
        lock_timeout: String(LOCK_TIMEOUT_MS),
        // Whatever the database's default is: a batch reads the clock after its locks, and must see what they guard.
        default_transaction_isolation: 'read\\ committed',
        // Row by row in the order of the ids, however few there are: in another order two could wait for each other.
        enable_hashjoin: 'off',
        enable_mergejoin: 'off',
        enable_seqscan: 'off',
        // What is off still has a cost, by which older servers would compile small statements.
        jit: 'off',
      },
      timeoutMs: BATCH_TIMEOUT_MS,
      random: options.random,
      monotonicMs: options.monotonicMs,
      onOpen: async (client) => {
        client.on('notice', (notice) => {
          // It may be about any of them.
          for (const committer of committers) committer.#doubt ??= doubtOf(notice);
        });
      },
    });
    const committers: Committer[] = Array.from({ length: count }, () => new Committer(session, options));
    return committers;
  }

  /**
   * The outcomes, in the order of the batch. Rejects with BatchUndone or BatchRefused or StorageUnavailable when nothing was
   * done, and with StorageOutcomeUnknown when that cannot be learnt.
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
    if (this.#id !== null) return this.#id;
    this.#doubt = null;
    try {
      const { rows } = await withDeadline(
        client,
        BATCH_TIMEOUT_MS,
        client.query<{ id: number }>(
          'INSERT INTO committers (id, used_at_ms) VALUES ($1, ledger_now_v1($2)) RETURNING id',
          // At random, so that no other node can ever have had it, whatever the database has forgotten.
          [Math.floor(this.#options.random() * 2 ** 53), this.#options.clock.said],
        ),
      );
      if (this.#doubt !== null) throw new ConnectionLost(this.#doubt);
      this.#id = rows[0]?.id ?? 0;
      this.#number = 0;
      return this.#id;
    } catch (error) {
      this.#session.noteFailure(client, error);
      throw new StorageUnavailable(`The database cannot be asked (${reasonOf(error)}); nothing was spent.`);
    }
  }

  async #send(client: Client, id: number, batch: Batch, waits: Waits): Promise<BatchOutcome[]> {
    const number = ++this.#number;
    this.#doubt = null;
    try {
      const asked = batch.ask(client, { lane: id, number, waits, saidMs: this.#options.clock.said });
      const answer = await withDeadline(client, BATCH_TIMEOUT_MS, asked);
      if (this.#doubt !== null) throw new ConnectionLost(this.#doubt);
      return readAll(answer, batch);
    } catch (error) {
      return this.#recover({ client, id, number, batch, waits }, error);
    }
  }

  async #recover({ client, id, number, batch, waits }: Sent, error: unknown): Promise<BatchOutcome[]> {
    const state = stateOf(error);
    // Another node has charged the same idempotency key in this moment: the next try finds it.
    if (state === UNIQUE_VIOLATION) throw new BatchUndone(reasonOf(error));
    if (state === NO_COMMITTER || state === NUMBER_TAKEN) {
      this.#id = null;
      throw new BatchUndone('the lane is made anew');
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
      case 'again':
        throw new BatchUndone(reasonOf(error));
      case 'busy':
        // It is the table that is held.
        if (waits === 'never') throw refusal(error);
        // Some row of it is held for too long: the others shall not wait for that one.
        return this.#send(client, id, batch, 'never');
      case 'readonly':
      case 'unable':
        this.#session.noteFailure(client, error);
        throw refusal(error);
    }
  }

  /** The answer of a batch that was done, null when it was not and never will be. */
  async #resolve(id: number, number: number): Promise<string | null> {
    const untilMs = this.#options.monotonicMs() + RESOLVE_WITHIN_MS;
    let reason = '';
    while (this.#options.monotonicMs() < untilMs) {
      try {
        const { rows } = await this.#session.query<{ verdicts: string | null }>({
          text: 'SELECT ledger_resolve_v1($1, $2) AS verdicts',
          values: [id, number],
        });
        return rows[0]?.verdicts ?? null;
      } catch (error) {
        reason = reasonOf(error);
      }
      await new Promise((resolve) => setTimeout(resolve, this.#session.pauseMs + RESOLVE_PAUSE_MS));
    }
    // The batch may still be under way: its number stays its own, and this lane goes on in another row.
    this.#id = null;
    throw new StorageOutcomeUnknown(`The database did not tell whether this was done (${reason}).`);
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
  return new StorageUnavailable(`The database refused (${reasonOf(error)}); nothing was spent.`);
}

/** An answer for each spend, or it is not the answer to this batch. */
function readAll(text: string, batch: Batch): BatchOutcome[] {
  const outcomes = batch.read(text);
  if (outcomes.length === batch.size) return outcomes;
  throw new StorageOutcomeUnknown('The database answered another question than this one.');
}
