import { defineRoute } from './route.ts';
import { component, field, listOf } from '../../model/schema/described.ts';
import { MigrationId } from '../shapes/schema/commonFields.ts';
import { strict, Text, Whole } from '../../model/schema/schemas.ts';

const ImportFailure = component(
  'ImportFailure',
  strict({
    index: field(Whole, 'The position of the key among all queued keys of the migration, from 0.', 17),
    message: field(Text, 'Why the key could not be created.', 'This key exists already.'),
  }),
  'A queued key that could not be created.',
  { index: 17, message: 'This key exists already.' },
);

export const getProgress = defineRoute({
  path: '/v1/migrations.getProgress',
  method: 'GET',
  summary:
    'Read the progress of a migration: how many keys were `queued`, how many are `done` and how many have `failed`.',
  rights: ['api.<apiId>.create_key'],
  command: { name: 'migration progress' },
  request: strict({ migrationId: MigrationId }),
  response: strict({
    migrationId: MigrationId,
    queued: field(Whole, 'How many keys were queued in all calls together.', 300),
    done: field(
      Whole,
      'How many keys are created. The migration is finished when `done` and `failed` equal `queued`.',
      199,
    ),
    failed: field(Whole, 'How many keys could not be created.', 1),
    errors: listOf(ImportFailure, 'The first 1,000 failures. `[]` when there are none.'),
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
