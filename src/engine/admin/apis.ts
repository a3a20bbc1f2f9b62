import { notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { ApiRecord, RootKeyRecord } from '../../core/records.ts';
import { ALL_RIGHTS, holdsRight } from '../../core/rights.ts';
import type { Page, Storage } from '../../storage/port.ts';
import type { System } from '../system.ts';
import { requireEverywhere, requireOn, requireSomewhere } from './access.ts';
import { applyOnce } from './changes.ts';

export class ApiAdmin {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  async create(actor: RootKeyRecord, name: string): Promise<ApiRecord> {
    requireEverywhere(actor, 'create_api');
    const nowMs = this.#storage.ledger.nowMs();
    const api: ApiRecord = {
      id: makeId('api', nowMs, this.#system.randomBytes(ID_RANDOM_BYTES)),
      name,
      createdAtMs: nowMs,
    };
    await applyOnce(this.#storage.ledger, { writes: [{ kind: 'insertApi', api }], accounts: [] });
    return api;
  }

  async get(actor: RootKeyRecord, apiId: string): Promise<ApiRecord> {
    requireOn(actor, 'read_api', apiId, 'api', apiId);
    const api = await this.#storage.records.findApi(apiId);
    if (api === null) throw notFound('api', apiId);
    return api;
  }

  /** Only those that the root key may read. */
  async list(actor: RootKeyRecord, limit: number, after: string | null): Promise<Page<ApiRecord>> {
    requireSomewhere(actor, 'read_api');
    const ids = holdsRight(actor.rights, 'read_api', ALL_RIGHTS)
      ? null
      : actor.rights.flatMap((right) => /^api\.([^.]+)\.read_api$/.exec(right)?.[1] ?? []);
    return this.#storage.records.listApis({ limit, after, ids });
  }
}
