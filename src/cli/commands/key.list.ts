import { EXIT } from '../../serve/exitCodes.ts';
import { type Ask, withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { countFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { type Key, keyTable } from '../output/keyShown.ts';
import { jsonLine, visible } from '../output/show.ts';

interface Page {
  readonly keys: readonly Key[];
  readonly total: number;
  /** Absent on the last page. */
  readonly cursor?: string;
}

export const keyList: Command = {
  name: 'key list',
  endpoint: 'apis.listKeys',
  summary: 'List the keys of an api, oldest first.',
  operands: [],
  flags: {
    api: { value: 'ID', meaning: 'The api of the keys (required).' },
    owner: { value: 'ID', meaning: 'Only the keys of this owner.' },
    search: {
      value: 'TEXT',
      meaning: 'Only keys whose start begins with this text, or with its words in name or metadata.',
    },
    plan: { value: 'ID', meaning: 'Only keys on this plan, by themselves or with their identity.' },
    state: { value: 'active|disabled|expired', meaning: 'Only keys in this state.' },
    limit: { value: '1..100', meaning: 'Number of keys on a page.' },
    cursor: { value: 'CURSOR', meaning: 'Continue after a page: the cursor that it printed.' },
    all: { value: null, meaning: 'List all pages.' },
  },
  examples: [
    'keystile key list --api api_1Jm8ZtXg3kPp5FhJ9sQw2R --owner user_1234',
    'keystile key list --api api_1Jm8ZtXg3kPp5FhJ9sQw2R --all --json',
  ],
  flagNames: {
    apiId: '--api',
    externalId: '--owner',
    search: '--search',
    planId: '--plan',
    state: '--state',
    limit: '--limit',
    cursor: '--cursor',
  },
  async run(call) {
    const { io, flags, isJson } = call;
    if (!flags.has('api')) throw misused('key list needs --api ID. keystile api list shows the ids.');
    const query = toQuery(flags);
    const page = await withService(call, (ask) =>
      flags.has('all') ? listAll(ask, query) : ask<Page>('apis.listKeys', query),
    );
    io.out(isJson ? jsonLine(page) : pageText(page));
    return EXIT.OK;
  },
};

function toQuery(flags: Flags): Readonly<Record<string, unknown>> {
  const limit = countFlag(flags, 'limit');
  const [owner, cursor] = [flags.text('owner'), flags.text('cursor')];
  const [search, plan, state] = [flags.text('search'), flags.text('plan'), flags.text('state')];
  return {
    apiId: flags.text('api'),
    ...(search === undefined ? {} : { search }),
    ...(plan === undefined ? {} : { planId: plan }),
    ...(state === undefined ? {} : { state }),
    ...(owner === undefined ? {} : { externalId: owner }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

async function listAll(ask: Ask, query: object): Promise<Page> {
  const keys: Key[] = [];
  let page = await ask<Page>('apis.listKeys', query);
  keys.push(...page.keys);
  while (page.cursor !== undefined) {
    page = await ask<Page>('apis.listKeys', { ...query, cursor: page.cursor });
    keys.push(...page.keys);
  }
  return { keys, total: page.total };
}

function pageText({ keys, total, cursor }: Page): string {
  const more = cursor === undefined ? '' : ` Next page: --cursor ${visible(cursor)}. All pages: --all.`;
  return `${keyTable(keys)}${keys.length} of ${total} keys.${more}\n`;
}
