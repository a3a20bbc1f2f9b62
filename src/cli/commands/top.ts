import { type Ask, usingService, withService } from '../ask.ts';
import { CliError } from '../cliError.ts';
import type { Command } from '../command.ts';
import { findRunningService } from '../findService.ts';
import type { Io } from '../io.ts';
import { jsonLine, showTime, table, visible } from '../output/print.ts';
import { readClientSettings } from '../profiles.ts';
import { loadRootKey } from '../secrets.ts';
import { countField, SHOWN_VERDICTS } from '../../core/verdictCodes.ts';
import { EXIT } from '../../serve/exit.ts';

const ENDED = Symbol('ended');
const EVERY_MS = 2_000;
const HOUR_MS = 3_600_000;
const TOP_KEYS = 8;
const DEFAULT_HEIGHT = 40;
/** Apis that are looked at. */
const MAX_APIS = 20;

export const top: Command = {
  name: 'top',
  summary: 'Show what the service is doing, as it happens. Ctrl-C stops it.',
  operands: [],
  takesProfile: true,
  flags: {
    once: { value: null, meaning: 'Show it once and exit. Output that is not a terminal always shows it once.' },
  },
  examples: ['keystile top', 'keystile top --once --json'],
  async run(call) {
    const { io, flags, isJson } = call;
    const isOnce = flags.has('once') || isJson || !io.showsSecrets;
    if (isOnce) {
      const found = await withService(call, look);
      io.out(isJson ? jsonLine(found) : topView(found, Infinity));
      return EXIT.OK;
    }
    const { config } = await readClientSettings(io, flags);
    const rootKey = await loadRootKey(io, config);
    // Without a server, this command would own the data folder for as long as it runs.
    const connection = await findRunningService(config, 'There is nothing to watch: the service is not running.');
    await usingService(connection, rootKey, (ask) => watch(io, ask));
    return EXIT.OK;
  },
};

async function watch(io: Io, ask: Ask): Promise<void> {
  const ended = Promise.withResolvers<typeof ENDED>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.resolve(ENDED));
  let looking = shownLook(ask);
  for (;;) {
    // Ctrl-C does not wait for the answer of a service that hangs.
    const screen = await Promise.race([ended.promise, looking]);
    if (screen === ENDED) return;
    io.out(`\u001b[H\u001b[2J${screen}`);
    if ((await Promise.race([ended.promise, Bun.sleep(EVERY_MS)])) === ENDED) return;
    // A service that starts again is watched on.
    looking = shownLook(ask).catch(shownFailure);
  }
}

async function shownLook(ask: Ask): Promise<string> {
  return topView(await look(ask), (process.stdout.rows ?? DEFAULT_HEIGHT) - 1);
}

function shownFailure(error: unknown): string {
  if (!(error instanceof CliError)) throw error;
  return `${error.lines.map(visible).join('\n')}\nTrying again. Ctrl-C stops it.\n`;
}

async function look(ask: Ask): Promise<Look> {
  const status = await ask<TopStatus>('service.getStatus', {});
  type Listed = { readonly apis: readonly { readonly id: string; readonly name: string }[]; readonly total: number };
  const { apis, total } = await ask<Listed>('apis.listApis', { limit: MAX_APIS });
  const ofApis = await Promise.all(apis.map(({ id, name }) => lookAtApi(ask, { apiId: id, name, nowMs: status.time })));
  const topKeys = ofApis.flatMap(({ keys }) => keys).toSorted((a, b) => b.total - a.total);
  return {
    status,
    apis: { watched: apis.length, total },
    minutes: addedUp(ofApis.map(({ minutes }) => minutes)),
    topKeys: topKeys.slice(0, TOP_KEYS),
  };
}

async function lookAtApi(ask: Ask, { apiId, name, nowMs }: { apiId: string; name: string; nowMs: number }) {
  const [minutes, keys] = await Promise.all([
    ask<CountedRow[]>('analytics.getVerifications', { apiId, groupBy: 'minute' }),
    ask<CountedRow[]>('analytics.getVerifications', {
      apiId,
      groupBy: ['key', 'identity'],
      start: nowMs - HOUR_MS,
      limit: TOP_KEYS,
    }),
  ]);
  return { minutes, keys: keys.filter(({ keyId }) => keyId !== undefined).map((row) => ({ ...row, api: name })) };
}

/** The minutes of all apis: every api has the same ones. */
function addedUp(lists: readonly (readonly CountedRow[])[]): CountedRow[] {
  const sums = new Map<number, Record<string, number>>();
  for (const { time = 0, ...row } of lists.flat()) {
    const sum = sums.get(time) ?? {};
    for (const [name, value] of Object.entries(row))
      if (typeof value === 'number') sum[name] = (sum[name] ?? 0) + value;
    sums.set(time, sum);
  }
  return [...sums].toSorted(([a], [b]) => a - b).map(([time, sum]) => ({ ...sum, time, total: sum['total'] ?? 0 }));
}

/** A row of `analytics.getVerifications`. */
interface CountedRow {
  readonly time?: number;
  readonly keyId?: string;
  readonly identity?: { readonly externalId?: string };
  readonly total: number;
  readonly [outcome: string]: unknown;
}

interface TopStatus {
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
interface Look {
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
function topView({ status, apis, minutes, topKeys }: Look, height: number): string {
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
