import { looksLikeId } from '../../core/ids.ts';
import { repeatable } from '../../core/errors.ts';
import type { Ask } from '../ask.ts';
import { failed, misused } from '../cliError.ts';
import { visible } from '../output/show.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Records that a person knows by a name. The API wants their ids. */
const LISTS = {
  planId: { noun: 'plan', path: 'plans.listPlans', list: 'plans' },
  apiId: { noun: 'api', path: 'apis.listApis', list: 'apis' },
  apis: { noun: 'api', path: 'apis.listApis', list: 'apis' },
} as const;

/** The request with the ids of what it names. Of several records with one name that the root key may read, none is taken. */
export async function withIds(ask: Ask, body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = { ...body };
  for (const [member, list] of Object.entries(LISTS)) {
    const given = body[member];
    if (typeof given === 'string') found[member] = await idOf(ask, given, list);
    else if (Array.isArray(given))
      found[member] = await Promise.all(given.map((each) => idOf(ask, String(each), list)));
  }
  return found;
}

/** Without a root key no name can be looked up. */
export function refuseNames(body: Readonly<Record<string, unknown>>): void {
  const { apiId } = body;
  if (typeof apiId !== 'string' || looksLikeId(apiId)) return;
  throw misused('--api must be an id here: without a root key, the names of apis cannot be read.');
}

interface List {
  readonly noun: string;
  readonly path: string;
  readonly list: string;
}

/** What looks like an id is one: the service says when there is none. */
async function idOf(ask: Ask, given: string, { noun, path, list }: List): Promise<string> {
  if (given === '' || looksLikeId(given)) return given;
  const named: Named[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask<Record<string, unknown>>(path, cursor === undefined ? {} : { cursor });
    const records = page[list] as Named[];
    named.push(...records.filter(({ name }) => name === given));
    cursor = records.length === 0 ? undefined : (page['cursor'] as string | undefined);
  } while (cursor !== undefined);
  const [first, ...others] = named;
  if (first === undefined) throw failed(`There is no ${noun} with the id or name ${repeatable(given)}.`);
  if (others.length === 0) return first.id;
  const ids = named.map(({ id }) => visible(id)).join(', ');
  throw failed(`${named.length} ${noun}s have the name ${repeatable(given)}: ${ids}. Give the id of one.`);
}
