import type { QueryConfig } from 'pg';

import type { Spend } from '../../../core/spend.ts';
import { FENCE_KINDS } from '../../sql/fences.ts';
import { isBroken } from '../schema/readFences.ts';

/** Selects the broken fences of a spend, by their numbers in its list, from 1 on. */
export function brokenFences({ fences }: Spend): QueryConfig {
  const text = `SELECT f.ordinal FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    WITH ORDINALITY AS f(kind, id, name, revision, ordinal) WHERE ${isBroken()}`;
  const columns = [
    fences.map(({ kind }) => FENCE_KINDS.indexOf(kind)),
    fences.map(({ id }) => id),
    fences.map(({ name }) => name),
    fences.map(({ revision }) => revision),
  ];
  return { name: 'broken_fences', text, values: columns };
}
