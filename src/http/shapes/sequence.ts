import { MAX_COUNT } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { badFields } from './keys/keyFields.ts';

/** The cursor of a list of events is the sequence of one. */
export function toSequence(cursor: string): number {
  const sequence = /^\d{1,16}$/.test(cursor) ? Number(cursor) : NaN;
  if (sequence <= MAX_COUNT) return sequence;
  throw badFields([
    { path: 'cursor', message: `cursor must be the cursor of an earlier answer, got ${repeatable(cursor)}` },
  ]);
}
