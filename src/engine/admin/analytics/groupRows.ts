import { VERDICT_CODES, type VerdictCode } from '../../../core/verdictCodes.ts';
import { addCredits } from '../../../core/verificationCounts.ts';
import type { AnalyticsOrder, AnalyticsRow } from '../../../storage/port/analytics.ts';
import { startOf, type TimeGroup } from './timeRange.ts';

/** The sum of one group. Fields that are not grouped by are absent. */
export interface VerificationRow {
  readonly timeMs?: number;
  readonly keyId?: string;
  readonly identity?: { readonly id: string; readonly externalId: string };
  readonly tag?: string;
  readonly tags?: readonly string[];
  readonly counts: Readonly<Record<VerdictCode, number>>;
  readonly total: number;
  /** Credits that these verifications took. */
  readonly credits: number;
}

interface Grouping {
  readonly time: TimeGroup | null;
  readonly byTag: boolean;
  readonly byTags: boolean;
  /** Only verifications that have one of these; null = all. */
  readonly tags: readonly string[] | null;
}

/** Merges rows of the database into months and single tags, keeps those with the wanted tags, and sorts them by group. */
export function groupRows(rows: readonly AnalyticsRow[], grouping: Grouping): VerificationRow[] {
  const groups = new Map<string, Sum>();
  for (const row of rows) {
    const tags = row.tags === null || row.tags === '' ? [] : (JSON.parse(row.tags) as string[]);
    const wanted = grouping.tags === null ? tags : tags.filter((tag) => grouping.tags?.includes(tag));
    if (grouping.tags !== null && wanted.length === 0) continue;
    // A verification with several tags counts under each of them, one without tags under none.
    for (const tag of grouping.byTag && wanted.length > 0 ? wanted : [undefined]) {
      const group = groupOf(row, grouping, tag, tags);
      const name = JSON.stringify(group);
      const known = groups.get(name);
      if (known === undefined) groups.set(name, { group, counts: [...row.counts], credits: row.credits });
      else addTo(known, row);
    }
  }
  return Array.from(groups.values(), toRow).sort(byGroup);
}

/** A group while its rows are added up. */
interface Sum {
  readonly group: Group;
  readonly counts: number[];
  credits: number;
}

function addTo(sum: Sum, { counts, credits }: AnalyticsRow): void {
  for (const [i, count] of counts.entries()) sum.counts[i] = (sum.counts[i] ?? 0) + count;
  sum.credits = addCredits(sum.credits, credits);
}

function byGroup(a: VerificationRow, b: VerificationRow): number {
  if (a.timeMs !== b.timeMs) return (a.timeMs ?? 0) - (b.timeMs ?? 0);
  const [first, second] = [a, b].map(({ keyId = '', identity, tag = '', tags }) =>
    [keyId, identity?.id ?? '', tag, tags?.join() ?? ''].join(' '),
  );
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

export function emptyRow(group: Group): VerificationRow {
  return toRow({ group, counts: VERDICT_CODES.map(() => 0), credits: 0 });
}

/** Equal rows stay in their order. */
export function ordered(rows: readonly VerificationRow[], { by, isDescending }: AnalyticsOrder): VerificationRow[] {
  const value = (row: VerificationRow): number =>
    by === 'time' ? (row.timeMs ?? 0) : by === 'total' || by === 'credits' ? row[by] : row.counts[by];
  return rows.toSorted((a, b) => (isDescending ? value(b) - value(a) : value(a) - value(b)));
}

type Group = Pick<VerificationRow, 'timeMs' | 'keyId' | 'identity' | 'tag' | 'tags'>;

function groupOf(row: AnalyticsRow, grouping: Grouping, tag: string | undefined, tags: readonly string[]): Group {
  const { timeMs, keyId, identityId, externalId = '' } = row;
  return {
    ...(timeMs === null || grouping.time === null ? {} : { timeMs: startOf(grouping.time, timeMs) }),
    ...(keyId === null || keyId === '' ? {} : { keyId }),
    ...(identityId === null || identityId === '' ? {} : { identity: { id: identityId, externalId } }),
    ...(tag === undefined ? {} : { tag }),
    ...(grouping.byTags ? { tags } : {}),
  };
}

function toRow({ group, counts, credits }: Sum): VerificationRow {
  const byCode = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, counts[i] ?? 0]));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return { ...group, counts: byCode as Record<VerdictCode, number>, total, credits };
}
