import { keystile } from '../../client.ts';
import { listApis } from '../../paged.ts';
import type { Range } from './ranges.ts';

/** Apis that the overview adds up. */
export const MAX_APIS = 20;
const APIS_EVERY_MS = 10_000;

/** An api, and how often its keys were verified in the period. */
export interface CountedApi {
  readonly id: string;
  readonly name: string;
  readonly total: number;
}

/** The apis of an open overview. They seldom change: they are asked for less often than their counts. */
export class RecentApis {
  #asked: { readonly atMs: number; readonly answer: ReturnType<typeof listApis> } | null = null;

  get(): ReturnType<typeof listApis> {
    const atMs = performance.now();
    if (this.#asked !== null && atMs - this.#asked.atMs < APIS_EVERY_MS) return this.#asked.answer;
    const answer = listApis({ limit: MAX_APIS });
    this.#asked = { atMs, answer };
    answer.catch(() => (this.#asked = null));
    return answer;
  }
}

/** Without a start, the service answers for the last 60 minutes, 24 hours or 30 days by its own clock. */
export async function loadCounts({ group }: Range, recentApis: RecentApis) {
  const { apis: found, total: apiCount } = await recentApis.get();
  const perApi = await Promise.all(
    found.map(async ({ id: apiId }) => keystile.analytics.getVerifications({ apiId, groupBy: group })),
  );
  const apis: CountedApi[] = found.map(({ id, name }, i) => ({
    id,
    name,
    total: (perApi[i] ?? []).reduce((sum, row) => sum + row.total, 0),
  }));
  const sums = new Map<number, (typeof perApi)[number][number]>();
  for (const row of perApi.flat()) {
    const time = row.time ?? 0;
    const before = sums.get(time);
    sums.set(time, before === undefined ? row : addUp(before, row));
  }
  const rows = [...sums.values()].toSorted((a, b) => (a.time ?? 0) - (b.time ?? 0));
  return { apis, apiCount, rows };
}

export type Counts = Awaited<ReturnType<typeof loadCounts>>;

function addUp<Row extends object>(one: Row, other: Row): Row {
  const sum = Object.entries(one as Record<string, unknown>).map(([name, value]) => {
    const more: unknown = (other as Record<string, unknown>)[name];
    return [name, name !== 'time' && typeof value === 'number' && typeof more === 'number' ? value + more : value];
  });
  return Object.fromEntries(sum) as Row;
}
