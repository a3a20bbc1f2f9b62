import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { mayNameAnyOwner } from '../../core/rights.ts';
import { shownStart } from '../../core/secret.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireEverywhere, requireOn, requireOwner, requireSomewhere } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type Draft, emptyDraft } from './change/applyChange.ts';
import type { QuotaLeft } from './change/quotas.ts';
import { asOneError, CreateKey, type KeyPatch, type KeyProblem, type KeySecret } from './createKeys.ts';
import type { System } from '../platform.ts';
import type { ApiRecord } from '../../model/apis.ts';
import type { FinishedBatch, ImportBatch, ImportProgress } from '../../storage/port/imports.ts';

/** Keys of one migration that may wait in the queue. */
const MAX_WAITING_KEYS = 1_000_000;

interface Migration {
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

/** A key that was made elsewhere, with its secret or the secret's SHA-256 in base64. */
export interface ImportedKey {
  readonly apiId: string;
  readonly patch: KeyPatch;
  readonly secret: { readonly plaintext: string } | { readonly sha256: string };
  /** What the secret begins with; null = not given. */
  readonly prefix: string | null;
  /** What lists show of the secret; null = taken from its secret and prefix. */
  readonly start: string | null;
}

/** The same key with a digest instead of its secret, so that it can wait on disk. */
interface WaitingKey {
  readonly apiId: string;
  readonly patch: KeyPatch;
  readonly secret: KeySecret;
  /** Digests under older peppers, under which the key may exist already. */
  readonly olderDigests: readonly string[];
}

/** Characters of a secret that `start` never shows. */
const MIN_HIDDEN = 12;

function toWaitingKey(system: System, { apiId, patch, secret, prefix, start }: ImportedKey): WaitingKey {
  const isPlain = 'plaintext' in secret;
  return {
    apiId,
    patch,
    secret: {
      digest: isPlain ? system.digestSecret(secret.plaintext) : system.digestOfSha256(secret.sha256),
      start: start ?? startOf(prefix, isPlain ? secret.plaintext : null),
      byteLength: null,
    },
    olderDigests: isPlain ? system.olderDigests(secret.plaintext) : system.olderDigestsOfSha256(secret.sha256),
  };
}

/** The same start as of a key that is made here. A short secret shows only its prefix. */
function startOf(prefix: string | null, plaintext: string | null): string {
  const isPrefixed = prefix !== null && (plaintext === null || plaintext.startsWith(`${prefix}_`));
  const shown = plaintext === null ? '' : shownStart(isPrefixed ? prefix : null, plaintext);
  if (plaintext !== null && plaintext.length - shown.length >= MIN_HIDDEN) return shown;
  return isPrefixed ? `${prefix}_` : '';
}

/** Prepares the records of imported keys. */
class PrepareImport {
  readonly #context: AdminContext;
  readonly #createKey: CreateKey;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#createKey = new CreateKey(context);
  }

  /** Adds every key that can be created to the draft, and answers the problems of the others. */
  async draftKeys(
    draft: Draft,
    actor: Actor,
    { keys, quotaLeft }: { keys: readonly WaitingKey[]; quotaLeft: QuotaLeft | null },
  ): Promise<{ keyIds: string[]; problems: KeyProblem[] }> {
    const apis = await this.#findApis(keys);
    const doubled = await this.#findDoubled(keys);
    const known = await this.#createKey.readNamed(keys.map(({ patch }) => patch));
    const keyIds: string[] = [];
    const problems: KeyProblem[] = [];
    await this.#context.turns.each(actor.id, keys, async ({ apiId, patch, secret }, index) => {
      const before = lengthsOf(draft);
      try {
        const api = apis.get(apiId);
        if (api === undefined) throw notFound('api', apiId);
        const conflict = doubled.get(index);
        if (conflict !== undefined) throw new AppError('CONFLICT', conflict);
        if (quotaLeft !== null && keyIds.length >= quotaLeft.count) throw quotaLeft.refusal();
        const input = { ...patch, secret, known, orFail: 'PRECONDITION_FAILED' as const };
        keyIds.push((await this.#createKey.draftKey(draft, actor, api, input)).id);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        takeBack(draft, before);
        problems.push({ index, error });
      }
    });
    return { keyIds, problems };
  }

  async #findApis(keys: readonly WaitingKey[]): Promise<Map<string, ApiRecord>> {
    const found = new Map<string, ApiRecord>();
    for (const apiId of new Set(keys.map((key) => key.apiId))) {
      const api = await this.#context.storage.records.findApi(apiId);
      if (api !== null) found.set(apiId, api);
    }
    return found;
  }

  /** By index: the conflict of each key that exists already or appears earlier in the list. */
  async #findDoubled(keys: readonly WaitingKey[]): Promise<Map<number, string>> {
    const digests = keys.flatMap(({ secret, olderDigests }) => [secret.digest, ...olderDigests]);
    const taken = new Set(await this.#context.storage.records.findTakenDigests(digests));
    const doubled = new Map<number, string>();
    const seen = new Set<string>();
    for (const [index, { secret, olderDigests }] of keys.entries()) {
      const isTaken = [secret.digest, ...olderDigests].some((digest) => taken.has(digest));
      if (isTaken) doubled.set(index, 'This key exists already.');
      else if (seen.has(secret.digest)) doubled.set(index, 'This key appears earlier in the list.');
      seen.add(secret.digest);
    }
    return doubled;
  }
}

type Lengths = Readonly<Record<keyof Draft, number>>;

function lengthsOf({ writes, accounts, entries }: Draft): Lengths {
  return { writes: writes.length, accounts: accounts.length, entries: entries.length };
}

/** Removes from the draft what a key added before it turned out that it cannot be created. */
function takeBack(draft: Draft, { writes, accounts, entries }: Lengths): void {
  draft.writes.length = writes;
  draft.accounts.length = accounts;
  draft.entries.length = entries;
}
