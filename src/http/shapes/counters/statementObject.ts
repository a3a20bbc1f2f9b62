import { Type } from 'typebox';

import { type HolderRow, isKeyId } from '../../../engine/admin/statements.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { strict, Text, Whole } from '../../../model/schema/schemas.ts';

export const ROW_EXAMPLE = {
  identityId: EXAMPLE.identityId,
  externalId: EXAMPLE.externalId,
  start: EXAMPLE.midnight,
  end: EXAMPLE.nextMidnight,
  opening: 1000,
  granted: 500,
  refilled: 0,
  adjusted: -20,
  spent: 42,
  expired: 0,
  closing: 1438,
  held: 8,
};

export const StatementRowObject = component(
  'StatementRow',
  strict({
    keyId: optional(Text, 'The key whose credits these are. Absent for a customer.', EXAMPLE.keyId),
    identityId: optional(Text, 'The customer whose credits these are. Absent for a key.', ROW_EXAMPLE.identityId),
    externalId: optional(
      Text,
      'Your own id of this customer. Absent for a key, and when the customer was deleted.',
      ROW_EXAMPLE.externalId,
    ),
    start: field(
      Whole,
      'When the day (UTC) or the refill period begins, in unix milliseconds. The first period begins when credits are first counted.',
      ROW_EXAMPLE.start,
    ),
    end: optional(
      Whole,
      'When the day or period ends, in unix milliseconds. For the running period: the time of the next refill. Absent when there is none.',
      ROW_EXAMPLE.end,
    ),
    opening: field(Whole, 'The credits at the beginning, including those that reservations hold.', ROW_EXAMPLE.opening),
    granted: field(Whole, 'Credits that were granted.', ROW_EXAMPLE.granted),
    refilled: field(Whole, 'Credits that refills added.', ROW_EXAMPLE.refilled),
    adjusted: field(
      Type.Integer(),
      'Credits that other calls added. Negative where they took credits away.',
      ROW_EXAMPLE.adjusted,
    ),
    spent: field(Whole, 'Credits that verifications and settled reservations took.', ROW_EXAMPLE.spent),
    expired: field(Whole, 'Granted credits that expired unused.', ROW_EXAMPLE.expired),
    closing: field(
      Whole,
      'The credits at the end, including those that reservations hold: opening + granted + refilled + adjusted - spent - expired.',
      ROW_EXAMPLE.closing,
    ),
    held: field(Whole, 'The part of `closing` that reservations hold.', ROW_EXAMPLE.held),
  }),
  'What happened to the credits of one key or customer, in one day or one refill period.',
  ROW_EXAMPLE,
);

export function toRowObject({ holder, row }: HolderRow): Readonly<Record<string, string | number>> {
  const { id, externalId } = holder;
  return {
    ...(isKeyId(id) ? { keyId: id } : { identityId: id }),
    ...(externalId === null ? {} : { externalId }),
    start: row.startMs,
    ...(row.endMs === null ? {} : { end: row.endMs }),
    opening: row.opening,
    granted: row.granted,
    refilled: row.refilled,
    adjusted: row.adjusted,
    spent: row.spent,
    expired: row.expired,
    closing: row.closing,
    held: row.held,
  };
}
