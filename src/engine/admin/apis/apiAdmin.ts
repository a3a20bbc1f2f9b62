import { AppError, notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { BLANK_API } from '../../../model/apis.ts';
import type { DefaultLimit } from '../../../core/records.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import { type Operation, idsWithRight } from '../../../core/rights.ts';
import type { Page } from '../../../storage/port/records.ts';
import { requireEverywhere, requireOn, requireSomewhere } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { type DeleteAllKeys, nextGeneration } from './deleteAllKeys.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** null clears a field; an absent field stays as it is. */
export interface ApiPatch {
  readonly name?: string;
  readonly defaultPrefix?: string | null;
  readonly defaultByteLength?: number | null;
  readonly defaultLimit?: DefaultLimit | null;
  readonly isDeleteProtected?: boolean;
}

export class ApiAdmin {
  readonly #context: AdminContext;
  readonly #deleteAllKeys: DeleteAllKeys;

  constructor(context: AdminContext, deleteAllKeys: DeleteAllKeys) {
    this.#context = context;
    this.#deleteAllKeys = deleteAllKeys;
  }

  async create(actor: Actor, name: string): Promise<ApiRecord> {
    const { storage, system, changes, quotas } = this.#context;
    requireEverywhere(actor, 'api.create_api');
    const nowMs = storage.ledger.nowMs();
    const id = makeId('api', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const api: ApiRecord = { ...BLANK_API, id, name, createdAtMs: nowMs };
    const entry = auditEntry(actor, { action: 'api.create', target: id, before: null, after: auditedApi(api) });
    await quotas.creating('apis', 1, (keepQuota) =>
      changes.apply(async () => {
        const writes = [{ kind: 'insertApi', api } as const, ...(await keepQuota())];
        return { change: { writes, accounts: [], entries: [entry] }, answer: () => undefined };
      }),
    );
    return api;
  }

  get(actor: Actor, apiId: string): Promise<ApiRecord> {
    return this.#load(actor, 'api.read_api', apiId);
  }

  /** Only apis that the root key may read. */
  async list(actor: Actor, limit: number, after: string | null): Promise<Page<ApiRecord>> {
    requireSomewhere(actor, 'api.read_api');
    return this.#context.storage.records.listApis({ limit, after, ids: idsWithRight(actor.rights, 'api.read_api') });
  }

  async update(actor: Actor, apiId: string, patch: ApiPatch): Promise<void> {
    // An empty patch changes nothing and writes no audit entry.
    if (Object.keys(patch).length === 0) return void (await this.#load(actor, 'api.update_api', apiId));
    await this.#change(actor, 'api.update_api', apiId, 'api.update', (before) => ({ ...before, ...patch }));
  }

  /** Deletes all keys of the api and answers how many there were. */
  deleteKeys(actor: Actor, apiId: string, permanent: boolean): Promise<number> {
    return this.#deleteAllKeys.deleteAll(actor, () => this.#load(actor, 'api.delete_key', apiId), permanent);
  }

  /** Deletes the api and all its keys. After the answer, no verification finds them. */
  async delete(actor: Actor, apiId: string): Promise<void> {
    const api = await this.#change(actor, 'api.delete_api', apiId, 'api.delete', (before) => {
      if (before.isDeleteProtected) {
        throw new AppError(
          'DELETE_PROTECTED',
          `The api ${apiId} is protected from deletion. Set deleteProtection to false with apis.updateApi first.`,
        );
      }
      // A deleted api cannot be restored, so its keys are removed for good.
      return { ...nextGeneration(before, true), deletedAtMs: this.#context.storage.ledger.nowMs() };
    });
    await this.#deleteAllKeys.deleteLeftBehind(api);
  }

  #change(
    actor: Actor,
    operation: Operation,
    apiId: string,
    action: string,
    make: (before: ApiRecord) => ApiRecord,
  ): Promise<ApiRecord> {
    const { storage, changes } = this.#context;
    return changes.apply(async () => {
      const before = await this.#load(actor, operation, apiId);
      const api = { ...make(before), updatedAtMs: storage.ledger.nowMs(), revision: before.revision + 1 };
      const after = api.deletedAtMs === null ? auditedApi(api) : null;
      const entry = auditEntry(actor, { action, target: apiId, before: auditedApi(before), after });
      return {
        change: {
          writes: [{ kind: 'updateApi', api, expect: before.revision, endsKeys: api.deletedAtMs !== null }],
          accounts: [],
          entries: [entry],
        },
        answer: () => api,
      };
    });
  }

  async #load(actor: Actor, operation: Operation, apiId: string): Promise<ApiRecord> {
    requireOn(actor, operation, apiId, 'api', apiId);
    const api = await this.#context.storage.records.findApi(apiId);
    if (api === null) throw notFound('api', apiId);
    return api;
  }
}

function auditedApi(api: ApiRecord): Record<string, unknown> {
  const { name, defaultPrefix, defaultByteLength, defaultLimit, isDeleteProtected } = api;
  const { limit, durationMs, async } = defaultLimit ?? {};
  const defaultRatelimit = defaultLimit === null ? null : { limit, duration: durationMs, async };
  return { name, defaultPrefix, defaultByteLength, defaultRatelimit, deleteProtection: isDeleteProtected };
}
