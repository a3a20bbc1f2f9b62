import type { Static } from 'typebox';

import type { EventObject } from '../../http/routes/audit.listEvents.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { type Ask, withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { countFlag, timeFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { jsonLine, showTime, table, visible } from '../output/show.ts';

type Event = Static<typeof EventObject>;

interface Page {
  readonly events: readonly Event[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** What a change is shown in at the most; --json has all of it. */
const MAX_SHOWN = 60;

export const audit: Command = {
  name: 'audit',
  summary: 'List what was changed, by whom and from where, newest first.',
  operands: [],
  flags: {
    actor: { value: 'ID', meaning: 'Only what this root key did; cli and system are the program itself.' },
    action: { value: 'ACTION', meaning: 'Only this, such as key.delete.' },
    target: { value: 'ID', meaning: 'Only what was done to this.' },
    since: { value: 'TIME', meaning: 'From here on: unix milliseconds or a date such as 2030-12-31.' },
    until: { value: 'TIME', meaning: 'Up to here.' },
    limit: { value: '1..100', meaning: 'Events on a page.' },
    cursor: { value: 'CURSOR', meaning: 'Where the page before this one ended.' },
    all: { value: null, meaning: 'All pages.' },
  },
  examples: ['keystile audit --target key_1Jm8ZtYh4mRr6GjK8uTx3S', 'keystile audit --since 2030-12-31 --all --json'],
  async run(call) {
    const { io, flags, isJson } = call;
    const query = toQuery(flags);
    const page = await withService(call, (ask) =>
      flags.has('all') ? listAll(ask, query) : ask<Page>('audit.listEvents', query),
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
  const events: Event[] = [];
  let page = await ask<Page>('audit.listEvents', query);
  events.push(...page.events);
  while (page.cursor !== undefined) {
    page = await ask<Page>('audit.listEvents', { ...query, cursor: page.cursor });
    events.push(...page.events);
  }
  return { events };
}

function pageText({ events, cursor }: Page): string {
  const rows = events.map((event) => [
    showTime(event.time),
    event.actor,
    event.action,
    event.target,
    event.origin ?? '',
    changeText(event),
  ]);
  const more = cursor === undefined ? '' : `more with --cursor ${visible(cursor)}, or --all\n`;
  return `${table(['TIME', 'ACTOR', 'ACTION', 'TARGET', 'FROM', 'CHANGE'], rows)}${more}`;
}

/** `enabled: true -> false`; of what was made or is gone, its facts. */
function changeText({ before, after }: Event): string {
  const [old, now] = [before as Record<string, unknown> | undefined, after as Record<string, unknown> | undefined];
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])];
  const isChange = old !== undefined && now !== undefined;
  const parts = names.map((name) => {
    const told = JSON.stringify((now ?? old)?.[name] ?? null);
    return isChange ? `${name}: ${JSON.stringify(old[name] ?? null)} -> ${told}` : `${name}: ${told}`;
  });
  const text = parts.join(', ');
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 3)}...`;
}
