import { DAY_MS } from '../../core/statement.ts';
import { csvLine } from '../../core/csv.ts';
import { idPattern } from '../../core/ids.ts';
import { STATEMENT_COLUMNS } from '../../core/statementRows.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { wallClockMs } from '../../system.ts';
import { type Ask, withService } from '../ask.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { countFlag, timeFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { jsonLine } from '../output/show.ts';
import { addUsed, dayChart, topChart, type UsageRow, type UsedBy } from '../output/usageChart.ts';

interface Page {
  readonly rows: readonly UsageRow[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

interface Query {
  readonly per: 'day';
  readonly start: number;
  readonly end?: number;
  readonly [subject: string]: unknown;
}

const DEFAULT_SINCE_MS = 7 * DAY_MS;
const DEFAULT_TOP = 10;
const HOLDERS = ['identity', 'key', 'plan'] as const;
const IDENTITY_ID = new RegExp(idPattern('id'));

export const usage: Command = {
  name: 'usage',
  endpoint: 'usage.getStatement',
  summary: 'Show what customers have spent: by day for one of them, or those who spent the most.',
  operands: [],
  flags: {
    identity: { value: 'ID', meaning: 'By day, for the identity with this external id, or this id_...' },
    key: { value: 'ID', meaning: 'By day, for the credits of this key.' },
    plan: { value: 'ID', meaning: 'Only identities and keys on this plan.' },
    top: { value: 'N', meaning: `How many of those who spent the most are shown. ${DEFAULT_TOP} when absent.` },
    since: {
      value: 'TIME',
      meaning:
        'From when on, in whole days (UTC): a time span such as 7d, or a date such as 2030-12-31. When absent, 7d before --until, or before now where that is later.',
    },
    until: { value: 'TIME', meaning: 'Only days that begin before this time. When absent, up to now.' },
    csv: { value: null, meaning: 'Print all rows of the statements as CSV.' },
  },
  examples: [
    'keystile usage --identity user_1234 --since 30d',
    'keystile usage --top 3',
    'keystile usage --csv > usage.csv',
  ],
  flagNames: {
    identityId: '--identity',
    externalId: '--identity',
    keyId: '--key',
    planId: '--plan',
    start: '--since',
    end: '--until',
  },
  async run(call) {
    const { io, flags, isJson } = call;
    const nowMs = wallClockMs();
    const top = topOf(flags);
    if (flags.has('csv') && isJson) throw misused('Give --csv or --json, not both.');
    const end = timeFlag(flags, 'until');
    const start = timeFlag(flags, 'since') ?? Math.max(0, Math.min(end ?? nowMs, nowMs) - DEFAULT_SINCE_MS);
    if (start > nowMs) throw misused(`--since must be in the past, got "${flags.text('since')}".`);
    if (end !== undefined && end <= start)
      throw misused(`--until must be after --since, got "${flags.text('until')}".`);
    const query: Query = { per: 'day', start, ...(end === undefined ? {} : { end }), ...subjectOf(flags) };
    const untilMs = Math.min(nowMs, (end ?? Infinity) - 1);
    await withService(call, async (ask) => {
      if (isJson) io.out(jsonLine({ rows: await Array.fromAsync(rowsOf(ask, query)) }));
      else if (flags.has('csv')) await printCsv(ask, query, (text) => io.out(text));
      else if (top === null)
        io.out(dayChart(await Array.fromAsync(rowsOf(ask, query)), { start, untilMs, hasBars: io.showsSecrets }));
      else io.out(topChart(await usedBy(ask, query), { top, hasBars: io.showsSecrets }));
    });
    return EXIT.OK;
  },
};

/** null: one holder is shown, by day. */
function topOf(flags: Flags): number | null {
  const top = countFlag(flags, 'top');
  if (top === 0) throw misused('--top must be at least 1, got "0".');
  const isOne = flags.has('identity') || flags.has('key');
  if (!isOne) return top ?? DEFAULT_TOP;
  if (top !== undefined)
    throw misused(`--top is for many. Leave it out, or leave out --${flags.has('key') ? 'key' : 'identity'}.`);
  return null;
}

function subjectOf(flags: Flags): object {
  const given = HOLDERS.filter((name) => flags.has(name));
  if (given.length > 1) throw misused(`Give only one of ${given.map((name) => `--${name}`).join(' and ')}.`);
  const [name] = given;
  if (name === undefined) return { all: true };
  const id = flags.text(name) ?? '';
  if (name === 'identity') return IDENTITY_ID.test(id) ? { identityId: id } : { externalId: id };
  return name === 'key' ? { keyId: id } : { planId: id };
}

async function* rowsOf(ask: Ask, query: Query): AsyncGenerator<UsageRow> {
  let cursor: string | undefined;
  do {
    const page: Page = await ask<Page>('usage.getStatement', { ...query, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function printCsv(ask: Ask, query: Query, print: (text: string) => void): Promise<void> {
  print(csvLine(STATEMENT_COLUMNS));
  for await (const row of rowsOf(ask, query)) print(csvLine(STATEMENT_COLUMNS.map((name) => row[name] ?? '')));
}

/** The sums of each holder, in one pass over all rows. */
async function usedBy(ask: Ask, query: Query): Promise<readonly UsedBy[]> {
  const sums = new Map<string, UsedBy>();
  for await (const row of rowsOf(ask, query)) addUsed(sums, row);
  return [...sums.values()];
}
