import { AppError, notFound, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { mayNameAnyOwner } from '../../../core/rights.ts';
import type { ImportBatch, ImportProgress } from '../../../storage/port/imports.ts';
import { requireEverywhere, requireOn, requireOwner, requireSomewhere } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { ImportQueue } from './importQueue.ts';
import { asOneError, type KeyProblem } from '../keys/keyProblems.ts';
import { type ImportedKey, PrepareImport, toWaitingKey, type WaitingKey } from './prepareImport.ts';
import { emptyDraft } from '../change/draft.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Keys of one migration that may wait in the queue. */
const MAX_WAITING_KEYS = 1_000_000;

export interface Migration {
  /** Chosen by the caller. Calls with the same id belong to one migration. */
  readonly migrationId: string;
  readonly apiId: string;
  readonly items: readonly ImportedKey[];
}

/** Imports keys that were made elsewhere. */
export class ImportAdmin {
  readonly #context: AdminContext;
  readonly #prepareImport: PrepareImport;
  readonly #queue: ImportQueue;

  constructor(context: AdminContext, queue: ImportQueue) {
    this.#context = context;
    this.#queue = queue;
    this.#prepareImport = new PrepareImport(context);
  }

  /** Imports all keys or none. Answers their ids in the order of the items. */
  async create(actor: Actor, items: readonly ImportedKey[]): Promise<string[]> {
    const { changes, quotas } = this.#context;
    refuseHidden(actor, items);
    requireGrantRights(actor, items);
    await this.#requireOwners(actor, items);
    const keys = await this.#toWaitingKeys(actor, items);
    return quotas.creating('keys', keys.length, (keepQuota) =>
      changes.apply(async () => {
        const draft = emptyDraft();
        const { keyIds, problems } = await this.#prepareImport.draftKeys(draft, actor, { keys, quotaLeft: null });
        if (problems.length > 0) throw asOneError(problems);
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => keyIds };
      }),
    );
  }

  /** The keys are durable in the queue when this returns. They are created in the background, each one that can be. */
  async enqueue(actor: Actor, { migrationId, apiId, items }: Migration): Promise<void> {
    const { changes, storage, system } = this.#context;
    requireOn(actor, 'api.create_key', apiId, 'api', apiId);
    requireGrantRights(actor, items);
    await this.#requireOwners(actor, items);
    const keys = JSON.stringify(await this.#toWaitingKeys(actor, items));
    await changes.apply(async () => {
      if ((await storage.records.findApi(apiId)) === null) throw notFound('api', apiId);
      refuseTooManyWaiting(await storage.imports.findProgress(migrationId), {
        migrationId,
        apiId,
        count: items.length,
      });
      const batch: ImportBatch = {
        id: makeId('imp', storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES)),
        migrationId,
        apiId,
        first: 0,
        count: items.length,
        keys,
        actor: JSON.stringify(withRightsToImport(actor)),
      };
      const after = { apiId, keys: items.length };
      const entry = auditEntry(actor, { action: 'migration.enqueue', target: migrationId, before: null, after });
      return {
        change: {
          writes: [{ kind: 'enqueueImport', batch, mostWaiting: MAX_WAITING_KEYS }],
          accounts: [],
          entries: [entry],
        },
        answer: () => this.#queue.wake(),
      };
    });
  }

  async #toWaitingKeys(actor: Actor, items: readonly ImportedKey[]): Promise<WaitingKey[]> {
    const keys: WaitingKey[] = [];
    const { turns, system } = this.#context;
    await turns.each(actor.id, items, (item) => keys.push(toWaitingKey(system, item)));
    return keys;
  }

  async progress(actor: Actor, migrationId: string): Promise<ImportProgress> {
    requireSomewhere(actor, 'api.create_key');
    const found = await this.#context.storage.imports.findProgress(migrationId);
    requireOn(actor, 'api.create_key', found?.apiId ?? '', 'migration', migrationId);
    if (found === null) throw notFound('migration', migrationId);
    return found;
  }

  /** The actor may name the owners of these keys. Checked at once, and again when the keys are created. */
  async #requireOwners(actor: Actor, items: readonly ImportedKey[]): Promise<void> {
    if (mayNameAnyOwner(actor.rights, 'api.create_key')) return;
    for (const externalId of new Set(items.flatMap(({ patch }) => patch.externalId ?? []))) {
      const known = await this.#context.storage.records.findIdentity(externalId);
      requireOwner(actor, 'api.create_key', known?.id ?? null);
    }
  }
}

function refuseHidden(actor: Actor, items: readonly ImportedKey[]): void {
  const problems: KeyProblem[] = [];
  for (const [index, { apiId }] of items.entries()) {
    try {
      requireOn(actor, 'api.create_key', apiId, 'api', apiId);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error;
      problems.push({ index, error });
    }
  }
  if (problems.length > 0) throw asOneError(problems);
}

/** The actor may give roles and permissions, if any key names some. Checked once, not for each key. */
function requireGrantRights(actor: Actor, items: readonly ImportedKey[]): void {
  const names = (field: 'roles' | 'permissions') => items.some(({ patch }) => (patch[field]?.length ?? 0) > 0);
  if (names('roles')) requireEverywhere(actor, 'rbac.add_role_to_key');
  if (names('permissions')) requireEverywhere(actor, 'rbac.add_permission_to_key');
}

/** The queue uses the rights that the root key has when the keys are created. A node of an older version uses these. */
function withRightsToImport(actor: Actor): Actor {
  return { ...actor, rights: actor.rights.filter((right) => right === '*' || right.startsWith('rbac.*.')) };
}

function refuseTooManyWaiting(
  known: ImportProgress | null,
  { migrationId, apiId, count }: { migrationId: string; apiId: string; count: number },
): void {
  if (known === null) return;
  if (known.apiId !== apiId) {
    throw new AppError('CONFLICT', `The migrationId ${repeatable(migrationId)} is in use; choose another one.`);
  }
  if (known.queued - known.done - known.failed + count > MAX_WAITING_KEYS) {
    throw new AppError(
      'RATE_LIMITED',
      `${MAX_WAITING_KEYS} keys of this migration are waiting already; send more when some of them are done.`,
    );
  }
}
