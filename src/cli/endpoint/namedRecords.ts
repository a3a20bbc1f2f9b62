import { looksLikeId } from '../../core/ids.ts';
import { repeatable } from '../../core/errors.ts';
import type { Ask } from '../ask.ts';
import { failed } from '../cliError.ts';
import { visible } from '../output/show.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Records that a person knows by a name. The API wants their ids. */
const LISTS = {
  planId: { noun: 'plan', path: 'plans.listPlans', list: 'plans' },
  apiId: { noun: 'api', path: 'apis.listApis', list: 'apis' },
} as const;

/** The request with the ids of what it names. Names of plans are unique; of several apis with one name, none is taken. */
export async function withIds(ask: Ask, body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = { ...body };
  for (const [member, list] of Object.entries(LISTS)) {
    const given = body[member];
    if (typeof given === 'string' && given !== '' && !looksLikeId(given)) found[member] = await idOf(ask, given, list);
  }
  return found;
}

interface List {
  readonly noun: string;
  readonly path: string;
  readonly list: string;
}

async function idOf(ask: Ask, given: string, { noun, path, list }: List): Promise<string> {
  const named: Named[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask<Record<string, unknown>>(path, cursor === undefined ? {} : { cursor });
    named.push(...(page[list] as Named[]).filter(({ id, name }) => id === given || name === given));
    cursor = page['cursor'] as string | undefined;
  } while (cursor !== undefined);
  const [first, ...others] = named;
  if (first === undefined) throw failed(`There is no ${noun} with the id or name ${repeatable(given)}.`);
  if (others.length === 0) return first.id;
  const ids = named.map(({ id }) => visible(id)).join(', ');
  throw failed(`${named.length} ${noun}s have the name ${repeatable(given)}: ${ids}. Give the id of one.`);
}
