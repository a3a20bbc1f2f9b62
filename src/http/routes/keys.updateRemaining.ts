import { Type } from 'typebox';

import { badFields } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import { Count, Id, orNull, strict } from '../shapes/schemas.ts';

export const updateRemaining = defineRoute({
  path: '/v1/keys.updateRemaining',
  method: 'POST',
  summary:
    'Set, increase or decrease the credits of a key, exactly, also while the key is in use. null means unlimited.',
  rights: ['api.<apiId>.update_key'],
  request: strict({
    keyId: Id,
    op: Type.Union([Type.Literal('increment'), Type.Literal('decrement'), Type.Literal('set')]),
    value: orNull(Count),
  }),
  response: strict({ remaining: orNull(Type.Integer()) }),
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
