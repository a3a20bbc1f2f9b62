import { Compile } from 'typebox/compile';
import { type Static, Type } from 'typebox';

import { MAX_QUERY_PARTS, MAX_TAG_LENGTH, MAX_TAGS } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { explain } from '../request/explain.ts';
import { optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { badFields } from '../shapes/keys/keyFields.ts';
import { Count, Id, PermissionName, strict, words } from '../../model/schema/schemas.ts';

/** The whole list is one more part of a permission query. */
const MAX_PERMISSIONS_ASKED = MAX_QUERY_PARTS - 1;

/** What a gateway asks for, in the query of its own configuration. */
export const ForwardQuery = strict({
  permission: optional(
    Type.Array(PermissionName, { maxItems: MAX_PERMISSIONS_ASKED }),
    'A permission that the key must hold. Repeated: it must hold all of them.',
    ['orders.read'],
  ),
  cost: optional(Count, 'The credits to take. Absent: 1. With 0 the key is checked, and nothing is taken.', 1),
  apiId: optional(Id, 'The api that the key must belong to. A key of another api is FORBIDDEN.', EXAMPLE.apiId),
  tag: optional(
    Type.Array(words(1, MAX_TAG_LENGTH), { maxItems: MAX_TAGS }),
    'A tag that analytics counts the verification under. It can be repeated.',
    ['path=/orders'],
  ),
  deny: optional(
    Type.Literal('403'),
    'Answers every refusal but 401 with 403, for gateways that pass on no other status, such as nginx.',
    '403',
  ),
});

export type ForwardQuery = Static<typeof ForwardQuery>;

const LISTS: readonly string[] = ['permission', 'tag'];
/** All permissions and tags, and one of each other parameter. */
const MAX_PARAMETERS = MAX_PERMISSIONS_ASKED + MAX_TAGS + 3;
const REPEATED = 'A parameter of the query was sent twice. Only permission and tag may be repeated.';
const compiled = Compile(ForwardQuery);

/** Reads the query of a gateway strictly: what it does not know, or not understand, could be what should have refused a request. */
export function readForwardQuery({ search, searchParams }: URL): ForwardQuery {
  checkEscapes(search);
  const query: Record<string, string | number | string[]> = Object.create(null) as Record<string, never>;
  if (searchParams.size > MAX_PARAMETERS) {
    throw new AppError(
      'BAD_REQUEST',
      `The query must have at most ${MAX_PARAMETERS} parameters, got ${searchParams.size}.`,
    );
  }
  for (const [name, value] of searchParams) {
    const before = query[name];
    if (Array.isArray(before)) before.push(value);
    else if (before !== undefined) throw new AppError('BAD_REQUEST', REPEATED);
    else query[name] = LISTS.includes(name) ? [value] : toValue(name, value);
  }
  if (compiled.Check(query)) return query;
  throw badFields(explain(ForwardQuery, query));
}

function toValue(name: string, text: string): string | number {
  return name === 'cost' && /^\d{1,16}$/.test(text) ? Number(text) : text;
}

/** `URLSearchParams` would read a wrong escape as another text. */
function checkEscapes(search: string): void {
  try {
    decodeURIComponent(search);
  } catch {
    throw new AppError('BAD_REQUEST', 'The query has a "%" that does not begin an escaped character of UTF-8.');
  }
}
