import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const getProgress = defineRoute({
  path: '/v1/migrations.getProgress',
  method: 'GET',
  summary:
    'Read the progress of a migration: how many keys were `queued`, how many are `done` and how many have `failed`. `errors` contains the first 1,000 failures; `index` is the position of the key among all queued keys.',
  rights: ['api.<apiId>.create_key'],
  request: strict({ migrationId: Id }),
  response: strict({
    migrationId: Type.String(),
    queued: Type.Integer(),
    done: Type.Integer(),
    failed: Type.Integer(),
    errors: Type.Array(strict({ index: Type.Integer(), message: Type.String() })),
  }),
  example: {
    request: { migrationId: 'from-the-old-service' },
    response: {
      migrationId: 'from-the-old-service',
      queued: 300,
      done: 199,
      failed: 1,
      errors: [{ index: 17, message: 'This key exists already.' }],
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { migrationId }) {
    const { queued, done, failed, errors } = await engine.imports.progress(actor, migrationId);
    return { migrationId, queued, done, failed, errors };
  },
});
