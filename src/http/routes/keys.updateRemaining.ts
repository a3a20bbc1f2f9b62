import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { Count, orNull, strict, Whole } from '../../model/schema/schemas.ts';

export const updateRemaining = defineRoute({
  path: '/v1/keys.updateRemaining',
  method: 'POST',
  summary: 'Set, increase or decrease the credits of a key, exactly, even while the key is in use.',
  description:
    'null means unlimited. The number does not include what reservations hold, and `set` does not change that: what they return is added later. To include it, release the reservations first (`reservations.release`).',
  rights: ['api.<apiId>.update_key'],
  request: strict({
    keyId: KeyId,
    op: field(
      Type.Enum(['increment', 'decrement', 'set']),
      'What to do with `value`: add it, subtract it (never below 0), or make it the new number.',
      'increment',
    ),
    value: field(
      orNull(Count),
      'The number of credits, at least 0. null makes the key unlimited, only with `set`.',
      50,
    ),
  }),
  response: strict({
    remaining: field(orNull(Whole), 'The credits that the key has after the change. null: the key is unlimited.', 147),
  }),
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', op: 'increment', value: 50 },
    response: { remaining: 147 },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, op, value }) {
    if (op === 'set') return { remaining: await engine.keys.updateRemaining(actor, keyId, { op, value }) };
    if (value === null) {
      throw badFields([{ path: 'value', message: 'value can be null (unlimited) only with op "set"' }]);
    }
    return { remaining: await engine.keys.updateRemaining(actor, keyId, { op, value }) };
  },
});
