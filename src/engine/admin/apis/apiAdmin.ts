import { AppError, notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { type ApiRecord, BLANK_API, type DefaultLimit } from '../../../core/records.ts';
import { type Deed, idsWithRight } from '../../../core/rights.ts';
import type { Page } from '../../../storage/port/records.ts';
import { requireEverywhere, requireOn, requireSomewhere } from '../rootKeys/rootKeyAccess.ts';
import type { Actor } from '../change/actor.ts';
import { auditEvent } from '../audit/auditEvent.ts';
import { type BulkDeletion, nextGeneration } from './deleteAllKeys.ts';
import type { AdminParts } from '../change/adminContext.ts';

/** null clears, absent leaves. */
export interface ApiPatch {
  readonly name?: string;
  readonly defaultPrefix?: string | null;
  readonly defaultByteLength?: number | null;
  readonly defaultLimit?: DefaultLimit | null;
  readonly isDeleteProtected?: boolean;
}

export class ApiAdmin {
  readonly #parts: AdminParts;
  readonly #bulkDeletion: BulkDeletion;

  constructor(parts: AdminParts, bulkDeletion: BulkDeletion) {
    this.#parts = parts;
    this.#bulkDeletion = bulkDeletion;
  }

  async create(actor: Actor, name: string): Promise<ApiRecord> {
    const { storage, system, changes, quotas } = this.#parts;
    requireEverywhere(actor, 'api.create_api');
    const nowMs = storage.ledger.nowMs();
    const id = makeId('api', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const api: ApiRecord = { ...BLANK_API, id, name, createdAtMs: nowMs };
    const event = auditEvent(actor, { action: 'api.create', target: id, before: null, after: apiFacts(api) });
    await quotas.making('apis', 1, () =>
      changes.applyOnce({ writes: [{ kind: 'insertApi', api }], accounts: [], events: [event] }),
    );
    return api;
  }

  get(actor: Actor, apiId: string): Promise<ApiRecord> {
    return this.#load(actor, 'api.read_api', apiId);
  }

  /** Only those that the root key may read. */
  async list(actor: Actor, limit: number, after: string | null): Promise<Page<ApiRecord>> {
    requireSomewhere(actor, 'api.read_api');
    return this.#parts.storage.records.listApis({ limit, after, ids: idsWithRight(actor.rights, 'api.read_api') });
  }

  async update(actor: Actor, apiId: string, patch: ApiPatch): Promise<void> {
    // What names nothing changes nothing, and is not told.
    if (Object.keys(patch).length === 0) return void (await this.#load(actor, 'api.update_api', apiId));
    await this.#change(actor, 'api.update_api', apiId, 'api.update', (before) => ({ ...before, ...patch }));
  }

  /** All keys of the api; answers how many there were. */
  deleteKeys(actor: Actor, apiId: string, permanent: boolean): Promise<number> {
    return this.#bulkDeletion.deleteAllOf(actor, () => this.#load(actor, 'api.delete_key', apiId), permanent);
  }

  /** The api and all its keys: from the answer on no verification finds them. */
  async delete(actor: Actor, apiId: string): Promise<void> {
    const api = await this.#change(actor, 'api.delete_api', apiId, 'api.delete', (before) => {
      if (before.isDeleteProtected) {
        throw new AppError('DELETE_PROTECTED', `The api ${apiId} is protected from deletion; update it first.`);
      }
      // Nothing can bring it back: its keys need not be kept.
      return { ...nextGeneration(before, true), deletedAtMs: this.#parts.storage.ledger.nowMs() };
    });
    await this.#bulkDeletion.writeDown(api);
  }

  #change(
    actor: Actor,
    deed: Deed,
    apiId: string,
    action: string,
    make: (before: ApiRecord) => ApiRecord,
  ): Promise<ApiRecord> {
    const { storage, changes } = this.#parts;
    return changes.apply(async () => {
      const before = await this.#load(actor, deed, apiId);
      const api = { ...make(before), updatedAtMs: storage.ledger.nowMs(), revision: before.revision + 1 };
      const after = api.deletedAtMs === null ? apiFacts(api) : null;
      const event = auditEvent(actor, { action, target: apiId, before: apiFacts(before), after });
      return {
        change: {
          writes: [{ kind: 'updateApi', api, expect: before.revision, endsKeys: api.deletedAtMs !== null }],
          accounts: [],
          events: [event],
        },
        answer: () => api,
      };
    });
  }

  async #load(actor: Actor, deed: Deed, apiId: string): Promise<ApiRecord> {
    requireOn(actor, deed, apiId, 'api', apiId);
    const api = await this.#parts.storage.records.findApi(apiId);
    if (api === null) throw notFound('api', apiId);
    return api;
  }
}

function apiFacts(api: ApiRecord): Record<string, unknown> {
  const { name, defaultPrefix, defaultByteLength, defaultLimit, isDeleteProtected } = api;
  const { limit, durationMs, async } = defaultLimit ?? {};
  const defaultRatelimit = defaultLimit === null ? null : { limit, duration: durationMs, async };
  return { name, defaultPrefix, defaultByteLength, defaultRatelimit, deleteProtection: isDeleteProtected };
}
