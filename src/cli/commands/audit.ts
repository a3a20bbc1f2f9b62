import type { Static } from 'typebox';

import { csvLine } from '../../basics/csv.ts';
import { describeLongValue } from '../../basics/longValue.ts';
import type { EntryObject } from '../../http/routes/audit.listEntries.ts';
import { EXIT } from '../../serve/exit.ts';
import { type Ask, withService } from '../ask.ts';
import { failed, misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { countFlag, type Flags, type FlagTable, timeFlag } from '../flags.ts';
import type { Io } from '../io.ts';
import { jsonLine, showTime, table, visible } from '../output/print.ts';
import { inWords } from '../words.ts';

type Entry = Static<typeof EntryObject>;

interface Page {
  readonly entries: readonly Entry[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Longer changes are cut at this many characters. --json shows all of a change. */
const MAX_CHANGE_LENGTH = 60;

/** Entries that one request of an export reads. */
const EXPORT_PAGE = 100;

const EXPORT_COLUMNS = [
  'id',
  'time',
  'actor',
  'action',
  'target',
  'before',
  'after',
  'origin',
  'requestId',
  'via',
] as const;

const FILTERS: FlagTable = {
  actor: {
    value: 'ID',
    meaning:
      'Only changes by this actor: the id of a root key, cli for the command line, or system for the service itself.',
  },
  action: { value: 'ACTION', meaning: 'Only this action, such as key.delete.' },
  target: { value: 'ID', meaning: 'Only changes to the record with this id.' },
  since: {
    value: 'TIME',
    meaning: 'Only changes from this time on: a time span such as 7d, or a date such as 2030-12-31.',
  },
  until: { value: 'TIME', meaning: 'Only changes before this time.' },
};

const FILTER_NAMES = {
  actor: '--actor',
  action: '--action',
  target: '--target',
  start: '--since',
  end: '--until',
};

export const audit: Command = {
  name: 'audit',
  endpoint: 'audit.listEntries',
  summary: 'List changes, newest first: who changed what, when and from where.',
  operands: [],
  flags: {
    ...FILTERS,
    limit: { value: '1..100', meaning: 'Number of entries on a page.' },
    cursor: { value: 'CURSOR', meaning: 'The cursor that the previous page printed.' },
    all: { value: null, meaning: 'List all pages.' },
  },
  examples: ['keystile audit --target key_1Jm8ZtYh4mRr6GjK8uTx3S', 'keystile audit --since 2030-12-31 --all --json'],
  flagNames: { ...FILTER_NAMES, limit: '--limit', cursor: '--cursor' },
  async run(call) {
    const { io, flags, isJson } = call;
    const query = {
      ...toQuery(flags),
      ...given({ limit: countFlag(flags, 'limit'), cursor: flags.text('cursor') }),
    };
    const page = await withService(call, (ask) =>
      flags.has('all') ? listAll(ask, query) : ask<Page>('audit.listEntries', query),
    );
    io.out(isJson ? jsonLine(page) : pageText(page));
    const target = flags.text('target');
    if (target !== undefined && page.entries.length === 0 && !/^[a-z]+_\w/.test(target))
      io.err(
        '--target takes the id of a record. keystile customer get CUSTOMER, keystile api list and keystile plan list show ids.\n',
      );
    return EXIT.OK;
  },
};

export const auditExport: Command = {
  name: 'audit export',
  takesProfile: true,
  summary: 'Write changes to standard output, newest first: a line of JSON for each, or CSV.',
  description:
    'Run it before KEYSTILE_AUDIT_RETENTION removes old entries for good. The command itself removes nothing.',
  operands: [],
  flags: { ...FILTERS, csv: { value: null, meaning: 'Write CSV, with before and after as JSON.' } },
  examples: [
    'keystile audit export > audit.ndjson',
    'keystile audit export --since 2030-01-01 --until 2030-02-01 --csv > audit-2030-01.csv',
  ],
  flagNames: FILTER_NAMES,
  async run(call) {
    const { io, flags, isJson } = call;
    if (flags.has('csv') && isJson) throw misused('Give --csv or --json, not both.');
    const lineOf = flags.has('csv') ? csvOf : (entry: Entry): string => `${JSON.stringify(entry)}\n`;
    const query = { ...toQuery(flags), limit: EXPORT_PAGE };
    if (flags.has('csv')) await write(io, csvLine(EXPORT_COLUMNS));
    await withService(call, async (ask) => {
      for await (const entries of pagesOf(ask, query)) await write(io, entries.map(lineOf).join(''));
    });
    return EXIT.OK;
  },
};

function toQuery(flags: Flags): Readonly<Record<string, unknown>> {
  return given({
    actor: flags.text('actor'),
    action: flags.text('action'),
    target: flags.text('target'),
    start: timeFlag(flags, 'since'),
    end: timeFlag(flags, 'until'),
  });
}

function given(fields: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function* pagesOf(ask: Ask, query: object): AsyncGenerator<readonly Entry[]> {
  let cursor: string | undefined;
  do {
    const page: Page = await ask<Page>('audit.listEntries', { ...query, ...given({ cursor }) });
    yield page.entries;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function listAll(ask: Ask, query: object): Promise<Page> {
  return { entries: (await Array.fromAsync(pagesOf(ask, query))).flat() };
}

function csvOf(entry: Entry): string {
  return csvLine(
    EXPORT_COLUMNS.map((name) => {
      const value = entry[name] ?? '';
      return typeof value === 'object' ? JSON.stringify(value) : value;
    }),
  );
}

/** Waits until it is written: a log of years does not pile up before a slow reader. */
async function write(io: Io, text: string): Promise<void> {
  if (io.writeOut === undefined) return io.out(text);
  try {
    await io.writeOut(new TextEncoder().encode(text));
  } catch (error) {
    throw failed(
      `The entries were not written: standard output was closed (${(error as { code?: string }).code ?? String(error)}).`,
    );
  }
}

function pageText({ entries, cursor }: Page): string {
  const rows = entries.map((entry) => [
    showTime(entry.time),
    entry.actor,
    entry.action,
    entry.target,
    entry.origin ?? '',
    changeText(entry),
  ]);
  const more = cursor === undefined ? '' : `Next page: --cursor ${visible(cursor)}. All pages: --all.\n`;
  return `${table(['TIME', 'ACTOR', 'ACTION', 'TARGET', 'FROM', 'CHANGE'], rows)}${more}`;
}

/** A change as `enabled: true -> false`. For a new or deleted object, its fields. */
function changeText({ before, after }: Entry): string {
  const [old, now] = [before as Record<string, unknown> | undefined, after as Record<string, unknown> | undefined];
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])];
  const isChange = old !== undefined && now !== undefined;
  const fields = names.map((name) => {
    const value = valueText((now ?? old)?.[name]);
    const label = inWords(name);
    return isChange ? `${label}: ${valueText(old[name])} -> ${value}` : `${label}: ${value}`;
  });
  const text = fields.join(', ');
  return text.length <= MAX_CHANGE_LENGTH ? text : `${text.slice(0, MAX_CHANGE_LENGTH - 3)}...`;
}

function valueText(value: unknown): string {
  return describeLongValue(value) ?? JSON.stringify(value ?? null);
}
