import { MAX_BATCH_ITEMS, MAX_IMPORT_BODY_BYTES } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { component, listOf } from '../../model/schema/described.ts';
import { ApiId, MigrationId, NEW_KEY_RIGHTS } from '../shapes/schema/commonFields.ts';
import { IMPORTED_EXAMPLE, IMPORTED_FIELDS, toImportedKeys } from '../shapes/keys/importFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

const QueuedKey = component(
  'QueuedKey',
  strict(IMPORTED_FIELDS),
  'A key that was created elsewhere. It gets the api of the call.',
  IMPORTED_EXAMPLE,
);

export const enqueueKeys = defineRoute({
  path: '/v1/migrations.enqueueKeys',
  method: 'POST',
  summary: 'Import up to 100 keys in the background.',
  description:
    'When the call answers, the keys are stored safely; they are created soon after. A key that cannot be created does not stop the others. `migrations.getProgress` shows the progress.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  command: { name: 'migration enqueue' },
  request: strict({
    migrationId: MigrationId,
    apiId: ApiId,
    keys: listOf(QueuedKey, 'The keys to import, 1 to 100.', { minItems: 1, maxItems: MAX_BATCH_ITEMS }),
  }),
  response: Empty,
  example: {
    request: {
      migrationId: 'from-the-old-service',
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      keys: [{ plaintext: 'demo_key-that-was-made-elsewhere', prefix: 'demo', ownerId: 'user_1234' }],
    },
    response: {},
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  status: 202,
  maxBodyBytes: MAX_IMPORT_BODY_BYTES,
  async handle(engine, actor, { migrationId, apiId, keys }) {
    const items = await toImportedKeys(engine, actor, { items: keys.map((key) => ({ ...key, apiId })), list: 'keys' });
    await engine.imports.enqueue(actor, { migrationId, apiId, items });
    return {};
  },
});
