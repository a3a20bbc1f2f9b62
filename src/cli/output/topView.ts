import { countField, SHOWN_VERDICTS } from '../../core/verdictCodes.ts';
import { showTime, table, visible } from './show.ts';

/** A row of `analytics.getVerifications`. */
export interface CountedRow {
  readonly time?: number;
  readonly keyId?: string;
  readonly identity?: { readonly externalId?: string };
  readonly total: number;
  readonly [outcome: string]: unknown;
}

export interface TopStatus {
  readonly time: number;
  readonly version: string;
  readonly nodes: readonly { readonly location: string; readonly isGone: boolean }[];
  readonly work: {
    readonly verifications: number;
    readonly since: number;
    readonly latency?: { readonly p50: number; readonly p90: number; readonly p99: number };
    readonly spends: number;
    readonly batches: number;
  };
  readonly problems: readonly { readonly severity: string; readonly text: string; readonly fix: string }[];
}

/** What one look at the service found. */
export interface Look {
  readonly status: TopStatus;
  /** Counted are only the apis that are watched. */
  readonly apis: { readonly watched: number; readonly total: number };
  /** By minute, the last hour, of all apis that are watched. */
  readonly minutes: readonly CountedRow[];
  readonly topKeys: readonly (CountedRow & { readonly api: string })[];
}

const OUTCOMES = SHOWN_VERDICTS.map((code) => [countField(code), code] as const);
const BARS = ' ▁▂▃▄▅▆▇█';

/** One screen. `height` lines at most. */
export function topView({ status, apis, minutes, topKeys }: Look, height: number): string {
  const { work, nodes } = status;
  const seconds = Math.max(1, (status.time - work.since) / 1000);
  const total = minutes.reduce((sum, row) => sum + row.total, 0);
  const latency = work.latency;
  const lines = [
    `Keystile ${visible(status.version)}  ${showTime(status.time)}  ${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`,
    `${perSecond(work.verifications / seconds)} verifications a second on this node` +
      (latency === undefined ? '' : `, ${latency.p50} ms (p50), ${latency.p99} ms (p99)`) +
      `; ${perSecond(work.spends / seconds)} spends a second` +
      (work.batches === 0 ? '' : `, ${(work.spends / work.batches).toFixed(1)} in a commit`),
    '',
    `Last hour: ${total} verifications${apis.watched < apis.total ? ` (of ${apis.watched} of ${apis.total} apis)` : ''}`,
    bars(minutes.map((row) => row.total)),
    outcomes(minutes, total),
    '',
    ...table(['KEY', 'CUSTOMER', 'API', 'LAST HOUR', 'REFUSED'], topKeys.map(keyCells)).trimEnd().split('\n'),
    '',
    ...(status.problems.length === 0 ? ['No problems.'] : status.problems.flatMap(problemLines)),
  ];
  return `${lines.slice(0, height).join('\n')}\n`;
}

function keyCells({ keyId = '', identity, api, total, valid = 0 }: Look['topKeys'][number]): string[] {
  return [keyId, identity?.externalId ?? '', api, String(total), String(total - Number(valid))];
}

function problemLines({ severity, text, fix }: TopStatus['problems'][number]): string[] {
  return [`${severity === 'problem' ? '!' : '-'} ${visible(text)}`, `  ${visible(fix)}`];
}

function outcomes(rows: readonly CountedRow[], total: number): string {
  if (total === 0) return 'Nothing was verified.';
  return OUTCOMES.flatMap(([field, label]) => {
    const count = rows.reduce((sum, row) => sum + Number(row[field] ?? 0), 0);
    return count === 0 ? [] : [`${label} ${((100 * count) / total).toFixed(1)} %`];
  }).join('  ');
}

function bars(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  return values.map((value) => BARS[Math.ceil((value / most) * (BARS.length - 1))] ?? '').join('');
}

function perSecond(rate: number): string {
  return rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1);
}
