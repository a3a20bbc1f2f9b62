import { AppError } from '../../../core/errors.ts';
import type { FinishedBatch, ImportBatch } from '../../../storage/port/imports.ts';
import type { Actor } from '../change/actor.ts';
import { PrepareImport, type WaitingKey } from './prepareImport.ts';
import { type Draft, emptyDraft } from '../change/draft.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Batches read in one step. Each is a transaction of its own, and requests are served between two. */
const STEP = 10;
/** How often a batch that others keep changing is tried, before it waits for the next run. */
const MAX_TRIES = 5;

const UNREADABLE = 'The stored import of this key cannot be read; enqueue the key again.';
const ENDED =
  'The root key that enqueued this key was revoked or has expired since; enqueue it again with another one.';

/**
 * Creates the keys that wait in the queue. A batch leaves the queue in the same transaction that creates its keys, and only one
 * node can remove it. So each batch is done exactly once, even if a process stops halfway or several nodes work on the queue.
 */
export class ImportQueue {
  readonly #context: AdminContext;
  readonly #prepareImport: PrepareImport;
  #isStopped = false;
  /** A process alone knows when the queue is empty. It starts with true, to find what an earlier process left. */
  #mayWait = true;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#prepareImport = new PrepareImport(context);
  }

  /** Runs until the queue is empty, or nothing in it can be done now. */
  async run(): Promise<void> {
    const { imports, localCounts } = this.#context.storage;
    this.#isStopped = false;
    while (this.#mayWait || localCounts.isShared) {
      this.#mayWait = false;
      const waiting = await imports.listWaiting(STEP);
      if (waiting.length > 0) this.#mayWait = true;
      let finished = 0;
      for (const batch of waiting) {
        if (this.#isStopped) return;
        if (await this.#finish(batch)) finished++;
      }
      if (finished === 0) return;
    }
  }

  /** Keys were enqueued: the next run looks into the queue. */
  wake(): void {
    this.#mayWait = true;
  }

  /** Ends a run after its present batch. */
  stop(): void {
    this.#isStopped = true;
  }

  async #finish(batch: ImportBatch): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await this.#tryFinish(batch)) return true;
      // Another node may have done it.
      const waiting = await this.#context.storage.imports.listWaiting(STEP);
      if (!waiting.some(({ id }) => id === batch.id)) return true;
    }
    return false;
  }

  async #tryFinish(batch: ImportBatch): Promise<boolean> {
    const { quotas, changes } = this.#context;
    const read = readBatch(batch);
    if (read === null) return changes.tryOnce(finishing(batch, emptyDraft(), allOf(batch, UNREADABLE)));
    const actor = await this.#present(read.actor);
    if (actor === null) return changes.tryOnce(finishing(batch, emptyDraft(), allOf(batch, ENDED)));
    const draft = emptyDraft();
    const quotaLeft = await quotas.left('keys', read.keys.length);
    const { keyIds, problems } = await this.#prepareImport.draftKeys(draft, actor, { keys: read.keys, quotaLeft });
    const errors = problems.map(({ index, error }) => ({ index: batch.first + index, message: error.message }));
    try {
      return await quotas.creating('keys', keyIds.length, async (keepQuota) => {
        draft.writes.push(...(await keepQuota()));
        return changes.tryOnce(finishing(batch, draft, errors));
      });
    } catch (error) {
      // Other calls have used up the quota meanwhile. The next try finds how much is left.
      if (error instanceof AppError && error.code === 'PRECONDITION_FAILED') return false;
      throw error;
    }
  }

  /** The actor that enqueued the batch, with its present rights; null when its root key was revoked or has expired. */
  async #present(actor: Actor): Promise<Actor | null> {
    const { records, ledger } = this.#context.storage;
    const rootKey = await records.findRootKey(actor.id);
    if (rootKey === null || rootKey.revokedAtMs !== null) return null;
    const { rights, expiresAtMs: untilMs } = rootKey;
    return untilMs !== null && ledger.nowMs() >= untilMs ? null : { ...actor, rights, untilMs };
  }
}

/** The first write removes the batch. If another node has removed it, the transaction fails before it writes anything else. */
function finishing({ id, migrationId, count }: ImportBatch, draft: Draft, errors: FinishedBatch['errors']): Draft {
  const finished: FinishedBatch = { id, migrationId, done: count - errors.length, errors };
  return { ...draft, writes: [{ kind: 'finishImport', batch: finished }, ...draft.writes] };
}

function readBatch({ keys, actor }: ImportBatch): { keys: readonly WaitingKey[]; actor: Actor } | null {
  try {
    return { keys: JSON.parse(keys) as WaitingKey[], actor: JSON.parse(actor) as Actor };
  } catch {
    return null;
  }
}

/** The same error for each key of the batch. */
function allOf({ first, count }: ImportBatch, message: string): FinishedBatch['errors'] {
  return Array.from({ length: count }, (_, i) => ({ index: first + i, message }));
}
