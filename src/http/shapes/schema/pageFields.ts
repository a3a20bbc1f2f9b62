import { Type } from 'typebox';

import { MAX_PAGE_SIZE } from '../../../core/bounds.ts';

import { field, optional } from '../../../model/schema/described.ts';
import { Text, Whole } from '../../../model/schema/schemas.ts';

/** The fields of requests and answers that come in pages. */

export const PageLimit = optional(
  Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE }),
  'The largest number of records in the answer, from 1 to 100. 100 when absent.',
  10,
);

export function pageCursor<const S extends Type.TSchema>(schema: S, example: string) {
  return optional(
    schema,
    'The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page.',
    example,
  );
}

export function nextCursor(example: string) {
  return optional(
    Text,
    'Send it as `cursor` with the next call to get the next page. Absent on the last page.',
    example,
  );
}

export const Total = field(Whole, 'The exact number of records on all pages together, at the time of this call.', 2);
