import type { Static } from 'typebox';

import type { EntryObject } from '../../http/routes/audit.listEntries.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { type Ask, withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { countFlag, timeFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { jsonLine, showTime, table, visible } from '../output/show.ts';

type Entry = Static<typeof EntryObject>;

interface Page {
  readonly entries: readonly Entry[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Longer changes are cut at this many characters. --json shows all of a change. */
const MAX_CHANGE_LENGTH = 60;

export const audit: Command = {
  name: 'audit',
  endpoint: 'audit.listEntries',
  summary: 'List changes, newest first: who changed what, when and from where.',
  operands: [],
  flags: {
    actor: {
      value: 'ID',
      meaning: 'Only changes by this root key. cli is the command line, system is the service itself.',
    },
    action: { value: 'ACTION', meaning: 'Only this action, such as key.delete.' },
    target: { value: 'ID', meaning: 'Only changes of this object.' },
    since: {
      value: 'TIME',
      meaning: 'Only changes from this time on: unix milliseconds or a date such as 2030-12-31.',
    },
    until: { value: 'TIME', meaning: 'Only changes before this time.' },
    limit: { value: '1..100', meaning: 'Number of entries on a page.' },
    cursor: { value: 'CURSOR', meaning: 'Continue after a page: the cursor that it printed.' },
    all: { value: null, meaning: 'List all pages.' },
  },
  examples: ['keystile audit --target key_1Jm8ZtYh4mRr6GjK8uTx3S', 'keystile audit --since 2030-12-31 --all --json'],
  flagNames: {
    actor: '--actor',
    action: '--action',
    target: '--target',
    start: '--since',
    end: '--until',
    limit: '--limit',
    cursor: '--cursor',
  },
  async run(call) {
    const { io, flags, isJson } = call;
    const query = toQuery(flags);
    const page = await withService(call, (ask) =>
      flags.has('all') ? listAll(ask, query) : ask<Page>('audit.listEntries', query),
    );
    io.out(isJson ? jsonLine(page) : pageText(page));
    return EXIT.OK;
  },
};

function toQuery(flags: Flags): Readonly<Record<string, unknown>> {
  const fields = {
    actor: flags.text('actor'),
    action: flags.text('action'),
    target: flags.text('target'),
    start: timeFlag(flags, 'since'),
    end: timeFlag(flags, 'until'),
    limit: countFlag(flags, 'limit'),
    cursor: flags.text('cursor'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function listAll(ask: Ask, query: object): Promise<Page> {
  const entries: Entry[] = [];
  let page = await ask<Page>('audit.listEntries', query);
  entries.push(...page.entries);
  while (page.cursor !== undefined) {
    page = await ask<Page>('audit.listEntries', { ...query, cursor: page.cursor });
    entries.push(...page.entries);
  }
  return { entries };
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
    const value = JSON.stringify((now ?? old)?.[name] ?? null);
    return isChange ? `${name}: ${JSON.stringify(old[name] ?? null)} -> ${value}` : `${name}: ${value}`;
  });
  const text = fields.join(', ');
  return text.length <= MAX_CHANGE_LENGTH ? text : `${text.slice(0, MAX_CHANGE_LENGTH - 3)}...`;
}
