import { Type } from 'typebox';

import { MAX_BATCH_ITEMS, MAX_IMPORT_BODY_BYTES } from '../../core/bounds.ts';
import { NEW_KEY_RIGHTS } from '../shapes/fieldRights.ts';
import { IMPORTED_FIELDS, toImportedKeys } from '../shapes/importFields.ts';
import { defineRoute } from './route.ts';
import { Id, strict } from '../shapes/schemas.ts';

export const createImportedKeys = defineRoute({
  path: '/v1/migrations.createKeys',
  method: 'POST',
  summary:
    'Import up to 100 keys that were created elsewhere, by `plaintext` or by its SHA-256 (`hash`): all of them, or none. The body is a list. A limit without `async` is strict here.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  request: Type.Array(strict({ apiId: Id, ...IMPORTED_FIELDS }), { minItems: 1, maxItems: MAX_BATCH_ITEMS }),
  response: strict({ keyIds: Type.Array(Type.String()) }),
  example: {
    request: [
      {
        apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
        hash: { value: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=', variant: 'sha256_base64' },
        start: 'demo_2cf2',
        ownerId: 'user_1234',
        remaining: 100,
      },
    ],
    response: { keyIds: ['key_1Jm8ZtYh4mRr6GjK8uTx3S'] },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  maxBodyBytes: MAX_IMPORT_BODY_BYTES,
  async handle(engine, actor, body) {
    return { keyIds: await engine.imports.create(actor, toImportedKeys(engine, body, '')) };
  },
});
