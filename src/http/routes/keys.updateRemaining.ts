import { Type } from 'typebox';

import { badFields } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import { Count, Id, orNull, strict } from '../shapes/schemas.ts';

export const updateRemaining = defineRoute({
  path: '/v1/keys.updateRemaining',
  method: 'POST',
  summary: 'Set, raise or lower the credits of a key, exactly, while it is being used. null = unlimited.',
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
      throw badFields([{ path: 'value', message: 'value may be null (unlimited) with op "set" only' }]);
    }
    return { remaining: await engine.keys.updateRemaining(actor, keyId, { op, value }) };
  },
});
