import type { SessionRecord } from '../../core/records.ts';
import type { PermissionRecord, RoleRecord, RootKeyRecord } from '../../model/access.ts';
import type { ApiRecord } from '../../model/apis.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { PlanRecord } from '../../model/plans.ts';
import type { EntryQuery, StoredEntry } from '../port/auditEntries.ts';
import type {
  ApiQuery,
  FilteredKeyQuery,
  FilteredPage,
  FormerSecret,
  FoundRole,
  FoundRootKey,
  IdentityQuery,
  KeyQuery,
  KeyWithIdentity,
  NamedQuery,
  Page,
  PageQuery,
  PlanWithPermissions,
  PoisonedKey,
  Records,
} from '../port/records.ts';
import { readLastUses } from './analytics/analytics.ts';
import { RememberedTotals } from './balances.ts';
import { findLargeSearch, listFilteredKeys } from './findKeys.ts';
import { countKeysOfIdentities, findTakenDigests, listExpiringKeys, listFormerSecrets } from './keys.ts';
import { type KeyRow, toReadKey } from './keyRows.ts';
import { findPermissions, findRoles, withPermissions } from './permissions.ts';
import { findPlans } from './plans.ts';
import { findPortalSession, listPortalSessions } from './portalSessions.ts';
import * as queries from './query/queries.ts';
import { FIND_FORMER_ROOT_KEY, FIND_ROOT_KEY, findAny } from './query/queries.ts';
import {
  type EntryRow,
  readableOf,
  type RecordRow,
  toApi,
  toEntry,
  toIdentity,
  toNamespace,
  toOverride,
  toPermission,
  toPlan,
  toRole,
  toRootKey,
} from './query/recordRows.ts';
import { type Params, type SqlReader } from './query/statement.ts';
import { findSession, findSessionById, listSessions } from './sessions.ts';

type FoundKey = KeyWithIdentity | PoisonedKey;

/** Reads the records of both engines. */
export class SqlRecords implements Records {
  readonly #reader: SqlReader;
  readonly #lookups: SqlReader;
  readonly #lookUp: KeyLookup;
  readonly #totals: RememberedTotals;

  readonly findApis = (apiIds: readonly string[]) => findApis(this.#reader, apiIds);
  readonly findSession = (digest: string) => findSession(this.#reader, digest);
  readonly findSessionById = (sessionId: string) => findSessionById(this.#reader, sessionId);
  readonly findPortalSession = (digest: string) => findPortalSession(this.#reader, digest);
  readonly listPortalSessions = (identityId: string, nowMs: number) =>
    listPortalSessions(this.#reader, identityId, nowMs);
  readonly findIdentities = (externalIds: readonly string[]) => findIdentities(this.#reader, externalIds);

  constructor({ reader, lookups, lookUp, version }: RecordsContext) {
    this.#reader = reader;
    this.#lookups = lookups;
    this.#lookUp = lookUp;
    this.#totals = new RememberedTotals(version);
  }

  async findKeysByDigest(digests: readonly string[]): Promise<readonly (FoundKey | null)[]> {
    const rows = await this.#lookUp(digests);
    const keys = await withPermissions(this.#lookups, rows.map(toReadKey));
    const found = new Map(rows.map((row, i) => [row.asked_digest ?? row.secret_digest, keys[i] as FoundKey]));
    return digests.map((digest) => found.get(digest) ?? null);
  }

  async findKey(keyId: string): Promise<FoundKey | null> {
    return (await this.#keys(queries.FIND_KEY, [keyId]))[0] ?? null;
  }

  async findAnyKey(keyId: string): Promise<FoundKey | null> {
    return (await this.#keys(queries.FIND_ANY_KEY, [keyId]))[0] ?? null;
  }

  findTakenDigests(digests: readonly string[]): Promise<readonly string[]> {
    return findTakenDigests(this.#reader, digests);
  }

  listFormerSecrets(owners: readonly string[]): Promise<readonly FormerSecret[]> {
    return listFormerSecrets(this.#reader, owners);
  }

  listKeysLeftBehind(apiId: string, limit: number): Promise<readonly FoundKey[]> {
    return this.#keys(queries.KEYS_LEFT_BEHIND, [apiId, limit]);
  }

  async listApisWithKeysLeftBehind(): Promise<readonly Pick<ApiRecord, 'id' | 'purgesBelow'>[]> {
    const rows = await this.#find<{ readonly id: string; readonly purges_below: number }>(
      queries.APIS_WITH_KEYS_LEFT_BEHIND,
      [],
    );
    return rows.map(({ id, purges_below }) => ({ id, purgesBelow: purges_below }));
  }

  listExpiringKeys(nowMs: number, limit: number): Promise<readonly FoundKey[]> {
    return listExpiringKeys(this.#reader, nowMs, limit);
  }

  countKeys(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_KEYS, [upTo]);
  }

  countNamespaces(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_NAMESPACES, [upTo]);
  }

  countApis(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_APIS, [upTo]);
  }

  async listKeys(query: KeyQuery): Promise<Page<FoundKey>> {
    const { total, page } = queries.keyListing(query);
    const count = await this.#totals.find(total, () => this.#count(total.sql, total.params));
    const found = queries.toPage(await this.#reader.scan<KeyRow>(page), query.limit, count);
    return { ...found, items: await withPermissions(this.#reader, found.items.map(toReadKey)) };
  }

  async listFilteredKeys(query: FilteredKeyQuery): Promise<FilteredPage<FoundKey>> {
    const { apiId, search, state, planId } = query;
    const large = search === null ? null : await findLargeSearch(this.#reader, apiId, search);
    if (state === null && planId === null && large === null) return this.listKeys(query);
    return listFilteredKeys(this.#reader, query, large);
  }

  async findApi(apiId: string): Promise<ApiRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_API, [apiId])).map(toApi)[0] ?? null;
  }

  async listApis(query: ApiQuery): Promise<Page<ApiRecord>> {
    const page = await this.#list<RecordRow>(queries.apiListing(query), query.limit);
    return { ...page, items: readableOf(page.items, toApi) };
  }

  async findIdentity(externalId: string): Promise<IdentityRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_IDENTITY, [externalId])).map(toIdentity)[0] ?? null;
  }

  async findIdentityById(id: string): Promise<IdentityRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_IDENTITY_BY_ID, [id])).map(toIdentity)[0] ?? null;
  }

  async listNeighbours(externalId: string, count: number): Promise<readonly IdentityRecord[]> {
    const [before, after] = await Promise.all(
      [queries.IDENTITIES_BEFORE, queries.IDENTITIES_AFTER].map((sql) =>
        this.#find<RecordRow>(sql, [externalId, count]),
      ),
    );
    return readableOf([...(before ?? []), ...(after ?? [])], toIdentity);
  }

  async listIdentities(query: IdentityQuery): Promise<Page<IdentityRecord>> {
    const page = await this.#list<RecordRow>(queries.identityListing(query), query.limit);
    return { ...page, items: readableOf(page.items, toIdentity) };
  }

  countKeysOfIdentities(identityIds: readonly string[]): Promise<readonly number[]> {
    return countKeysOfIdentities(this.#reader, identityIds);
  }

  listKeysOfIdentity(identityId: string, { after, limit }: PageQuery): Promise<readonly FoundKey[]> {
    return this.#keys(queries.KEYS_OF_IDENTITY, [identityId, after ?? '', limit]);
  }

  async findPlan(planId: string): Promise<PlanRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_PLAN, [planId])).map(toPlan)[0] ?? null;
  }

  async findPlanByName(name: string): Promise<PlanRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_PLAN_BY_NAME, [name])).map(toPlan)[0] ?? null;
  }

  findPlans(planIds: readonly string[]): Promise<readonly PlanWithPermissions[]> {
    return findPlans(this.#lookups, planIds);
  }

  async listPlans(query: PageQuery): Promise<Page<PlanRecord>> {
    const page = await this.#list<RecordRow>(queries.planListing(query), query.limit);
    return { ...page, items: readableOf(page.items, toPlan) };
  }

  countPlans(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_PLANS, [upTo]);
  }

  countHolders(planId: string): Promise<number> {
    return this.#count(queries.COUNT_HOLDERS, [planId]);
  }

  async listPermissions(): Promise<readonly PermissionRecord[]> {
    return (await this.#find<RecordRow>(queries.LIST_PERMISSIONS, [])).map(toPermission);
  }

  async listRoles(): Promise<readonly RoleRecord[]> {
    return readableOf(await this.#find<RecordRow>(queries.LIST_ROLES, []), toRole);
  }

  findPermissions(named: NamedQuery): Promise<readonly PermissionRecord[]> {
    return findPermissions(this.#reader, named);
  }

  findRoles(named: NamedQuery): Promise<readonly FoundRole[]> {
    return findRoles(this.#reader, named);
  }

  countPermissions(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_PERMISSIONS, [upTo]);
  }

  countRoles(upTo: number): Promise<number> {
    return this.#count(queries.COUNT_ROLES, [upTo]);
  }

  async findNamespace(name: string): Promise<NamespaceRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_NAMESPACE, [name])).map(toNamespace)[0] ?? null;
  }

  async findNamespaceById(id: string): Promise<NamespaceRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_NAMESPACE_BY_ID, [id])).map(toNamespace)[0] ?? null;
  }

  async findOverride(namespaceId: string, identifier: string): Promise<OverrideRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_OVERRIDE, [namespaceId, identifier])).map(toOverride)[0] ?? null;
  }

  async listAllOverrides(namespaceId: string): Promise<readonly OverrideRecord[]> {
    return (await this.#find<RecordRow>(queries.ALL_OVERRIDES, [namespaceId])).map(toOverride);
  }

  async listOverrides(namespaceId: string, query: PageQuery): Promise<Page<OverrideRecord>> {
    const page = await this.#list<RecordRow>(queries.overrideListing(namespaceId, query), query.limit);
    return { ...page, items: page.items.map(toOverride) };
  }

  findRootKeyByDigest(digest: string, nowMs: number): Promise<FoundRootKey | null> {
    return findRootKeyByDigest(this.#reader, digest, nowMs);
  }

  async findRootKey(rootKeyId: string): Promise<RootKeyRecord | null> {
    return (await this.#find<RecordRow>(queries.FIND_ROOT_KEY_BY_ID, [rootKeyId])).map(toRootKey)[0] ?? null;
  }

  async listRootKeys(): Promise<readonly RootKeyRecord[]> {
    return (await this.#find<RecordRow>(queries.LIST_ROOT_KEYS, [])).map(toRootKey);
  }

  listSessions(rootKeyIds: readonly string[] | null, nowMs: number, limit: number): Promise<readonly SessionRecord[]> {
    return listSessions(this.#reader, rootKeyIds, { nowMs, limit });
  }

  readLastUses(keyIds: readonly string[]): Promise<readonly (number | null)[]> {
    return readLastUses(this.#reader, keyIds);
  }

  async listEntries(query: EntryQuery): Promise<{ entries: readonly StoredEntry[]; cursor: number | null }> {
    const rows = (await this.#reader.scan<EntryRow>(queries.entryListing(query))).map(toEntry);
    const entries = rows.slice(0, query.limit);
    return { entries, cursor: rows.length > query.limit ? (entries.at(-1)?.number ?? null) : null };
  }

  async #keys(sql: string, params: Params): Promise<readonly FoundKey[]> {
    return withPermissions(this.#reader, (await this.#find<KeyRow>(sql, params)).map(toReadKey));
  }

  #find<T>(sql: string, params: Params): Promise<T[]> {
    return this.#reader.find<T>({ sql, params });
  }

  async #count(sql: string, params: Params): Promise<number> {
    return (await this.#reader.scan<{ total: number }>({ sql, params }))[0]?.total ?? 0;
  }

  async #list<T extends { id: string }>({ total, page }: queries.Listing, limit: number): Promise<Page<T>> {
    const [counted] = await this.#reader.scan<{ total: number }>(total);
    return queries.toPage(await this.#reader.scan<T>(page), limit, counted?.total ?? 0);
  }
}

async function findApis(reader: SqlReader, apiIds: readonly string[]): Promise<ApiRecord[]> {
  const rows = await findAny<RecordRow>(reader, { select: 'SELECT * FROM apis', column: 'id' }, apiIds);
  return rows.map(toApi).filter(({ deletedAtMs }) => deletedAtMs === null);
}

async function findIdentities(reader: SqlReader, externalIds: readonly string[]): Promise<IdentityRecord[]> {
  const named = { select: 'SELECT * FROM identities', column: 'external_id' };
  return (await findAny<RecordRow>(reader, named, externalIds)).map(toIdentity);
}

/** Finds the keys' rows with these digests. Each engine decides how many it reads at once. */
type KeyLookup = (digests: readonly string[]) => Promise<readonly KeyRow[]>;

interface RecordsContext {
  readonly reader: SqlReader;
  /** Reads that verifications wait for. */
  readonly lookups: SqlReader;
  readonly lookUp: KeyLookup;
  /** A number that grows with every change of a record by any node. */
  readonly version: () => Promise<number>;
}

/** The root key with this secret, or with this former secret while that is valid. */
async function findRootKeyByDigest(reader: SqlReader, digest: string, nowMs: number): Promise<FoundRootKey | null> {
  const [present] = await reader.find<RecordRow>({ sql: FIND_ROOT_KEY, params: [digest] });
  if (present !== undefined) return { rootKey: toRootKey(present), secretUntilMs: null };
  const [former] = await reader.find<{ secret_until_ms: number }>({
    sql: FIND_FORMER_ROOT_KEY,
    params: [digest, nowMs],
  });
  return former === undefined ? null : { rootKey: toRootKey(former), secretUntilMs: former.secret_until_ms };
}
