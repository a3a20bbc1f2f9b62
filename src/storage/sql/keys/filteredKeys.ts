import type { FilteredKeyQuery, FilteredPage, KeyState, KeyWithIdentity, PoisonedKey } from '../../port/records.ts';
import { KEY_SELECT, searched } from '../query/queries.ts';
import type { Params, SqlReader } from '../query/statement.ts';
import { withPermissions } from './keyPermissions.ts';
import { type KeyRow, toReadKey } from './keyRows.ts';
import { isFound, type LargeSearch } from './largeSearch.ts';

/** Up to so many identities on a plan, their keys are looked up. Of more, keys are looked through. */
const FEW_HOLDERS = 1_000;
/** Keys that one page looks through at most. */
const MAX_LOOKED_THROUGH = 20_000;

/**
 * A page of keys by their state or plan, or by a search that finds many, oldest first. By a plan or a search it reads a bounded number of
 * rows, however many keys there are, so a page can have fewer keys than its limit, or none, and still a cursor. By the state alone it
 * reads an index of the api, at worst all of it (`npm run bench -- --only listing` measures it with a million keys).
 */
export async function listFilteredKeys(
  reader: SqlReader,
  query: FilteredKeyQuery,
  large: LargeSearch | null,
): Promise<FilteredPage<KeyWithIdentity | PoisonedKey>> {
  const { rows, end } = await readRows(reader, query, large);
  const shown = rows.slice(0, query.limit);
  const cursor = rows.length > query.limit ? (shown.at(-1)?.id ?? null) : end;
  return { items: await withPermissions(reader, shown.map(toReadKey)), total: null, cursor };
}

/** The keys that one page looks through. */
interface Step {
  /** The last of them; null = all that follow. */
  readonly end: string | null;
  /** Null for a search that finds few, or none at all. */
  readonly large: LargeSearch | null;
}

const WHOLE: Step = { end: null, large: null };

/** At most one row more than the limit. `end`: up to where keys were looked through; null = all were. */
interface Found {
  readonly rows: readonly KeyRow[];
  readonly end: string | null;
}

async function readRows(reader: SqlReader, query: FilteredKeyQuery, large: LargeSearch | null): Promise<Found> {
  const { planId } = query;
  const hasMany = planId !== null && (await countHolders(reader, planId)) > FEW_HOLDERS;
  const isInSteps = hasMany || large !== null;
  const step = { large, end: isInSteps ? await endOfStep(reader, query) : null };
  const rows = await scanIds(reader, query, step, (ids) => {
    if (planId === null) return ids.ofApi();
    return isInSteps ? ids.onPlan(planId) : ids.ofFewHolders(planId);
  });
  return { rows, end: step.end };
}

async function countHolders(reader: SqlReader, planId: string): Promise<number> {
  const sql = 'SELECT count(*) AS total FROM (SELECT 1 FROM identities WHERE plan_id = $1 LIMIT $2) counted';
  return (await reader.scan<{ total: number }>({ sql, params: [planId, FEW_HOLDERS + 1] }))[0]?.total ?? 0;
}

/** The key that ends the step of a page; null when fewer keys follow. It reads the index keys_of_generation or keys_of_owner alone. */
async function endOfStep(reader: SqlReader, query: FilteredKeyQuery): Promise<string | null> {
  const ids = new KeyIds({ ...query, state: null, search: null }, WHOLE);
  const sql = `SELECT k.id FROM keys k WHERE ${ids.conditions()} ORDER BY k.id LIMIT 1 OFFSET ${MAX_LOOKED_THROUGH - 1}`;
  return (await reader.scan<{ id: string }>({ sql, params: ids.params }))[0]?.id ?? null;
}

/** The ids come first, from indexes alone. Only the rows of one page are read. */
async function scanIds(
  reader: SqlReader,
  query: FilteredKeyQuery,
  step: Step,
  select: (ids: KeyIds) => string,
): Promise<readonly KeyRow[]> {
  const ids = new KeyIds(query, step);
  const sql = `${KEY_SELECT} WHERE k.id IN (SELECT id FROM (${select(ids)}) page) ORDER BY k.id`;
  return reader.scan<KeyRow>({ sql, params: ids.params });
}

/** Statements that select the ids of a page. SQLite binds parameters in the order in which they first appear, so they are added in it. */
class KeyIds {
  readonly params: Params;
  readonly #query: FilteredKeyQuery;
  readonly #step: Step;

  constructor(query: FilteredKeyQuery, step: Step) {
    this.params = [query.apiId];
    this.#query = query;
    this.#step = step;
  }

  ofApi(): string {
    return this.#page('keys k', () => 'TRUE');
  }

  /** By keys_of_plan and by keys_of_owner; each of the two parts ends with a page. */
  ofFewHolders(planId: string): string {
    const own = this.#page('keys k', () => `k.plan_id = ${this.#add(planId)} AND k.identity_id IS NULL`);
    const shared = this.#page(
      'keys k',
      () => `k.identity_id IN (SELECT id FROM identities WHERE plan_id = ${this.#add(planId)})`,
    );
    const both = `SELECT id FROM (${own}) own UNION SELECT id FROM (${shared}) shared`;
    return `${both} ORDER BY id LIMIT ${this.#add(this.#query.limit + 1)}`;
  }

  onPlan(planId: string): string {
    const plan = 'CASE WHEN k.identity_id IS NULL THEN k.plan_id ELSE i.plan_id END';
    const from = 'keys k LEFT JOIN identities i ON i.id = k.identity_id';
    return this.#page(from, () => `${plan} = ${this.#add(planId)}`);
  }

  #page(from: string, condition: () => string): string {
    const where = `${this.conditions()} AND ${condition()}`;
    return `SELECT k.id FROM ${from} WHERE ${where} ORDER BY k.id LIMIT ${this.#add(this.#query.limit + 1)}`;
  }

  conditions(): string {
    const { externalId, search, state, after } = this.#query;
    const { end } = this.#step;
    return [
      'k.deleted_at_ms IS NULL AND k.api_id = $1',
      'k.generation = coalesce((SELECT generation FROM apis WHERE id = $1), 0)',
      `k.id > ${this.#add(after ?? '')}`,
      ...(end === null ? [] : [`k.id <= ${this.#add(end)}`]),
      ...(externalId === null
        ? []
        : [`k.identity_id = (SELECT id FROM identities WHERE external_id = ${this.#add(externalId)})`]),
      ...(state === null ? [] : [this.#inState(state)]),
      ...(search === null ? [] : [this.#isFound(search)]),
    ].join(' AND ');
  }

  #isFound(search: string): string {
    const add = (value: string): string => this.#add(value);
    const { large, end } = this.#step;
    return large === null
      ? `k.id IN (${searched(search, add)})`
      : isFound(large, { after: this.#query.after ?? '', end }, add);
  }

  /** By columns of the indexes keys_of_generation, keys_of_owner and keys_of_plan. */
  #inState(state: KeyState): string {
    switch (state) {
      case 'disabled':
        return 'k.enabled = 0';
      case 'expired':
        return `k.enabled = 1 AND k.expires_at_ms <= ${this.#add(this.#query.nowMs)}`;
      case 'active':
        return `k.enabled = 1 AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ${this.#add(this.#query.nowMs)})`;
    }
  }

  #add(value: Params[number]): string {
    return `$${this.params.push(value)}`;
  }
}
