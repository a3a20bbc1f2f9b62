import { Type } from 'typebox';

import { MAX_BATCH_ITEMS, MAX_IMPORT_BODY_BYTES } from '../../core/bounds.ts';
import { NEW_KEY_RIGHTS } from '../shapes/fieldRights.ts';
import { IMPORTED_FIELDS, toImportedKeys } from '../shapes/importFields.ts';
import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const enqueueKeys = defineRoute({
  path: '/v1/migrations.enqueueKeys',
  method: 'POST',
  summary:
    'Import up to 100 keys in the background. They are stored safely when this answers, and created soon after; a key that cannot be created does not stop the others. `migrations.getProgress` shows the progress.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  request: strict({
    migrationId: Id,
    apiId: Id,
    keys: Type.Array(strict(IMPORTED_FIELDS), { minItems: 1, maxItems: MAX_BATCH_ITEMS }),
  }),
  response: strict({}),
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
    const items = toImportedKeys(
      engine,
      keys.map((key) => ({ ...key, apiId })),
      'keys',
    );
    await engine.imports.enqueue(actor, { migrationId, apiId, items });
    return {};
  },
});
