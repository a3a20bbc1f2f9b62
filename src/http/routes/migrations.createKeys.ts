import { Type } from 'typebox';

import { MAX_BATCH_ITEMS, MAX_IMPORT_BODY_BYTES } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { component, field, listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId, NEW_KEY_RIGHTS } from '../shapes/schema/commonFields.ts';
import { IMPORTED_EXAMPLE, IMPORTED_FIELDS, toImportedKeys } from '../shapes/keys/importFields.ts';
import { strict, Text } from '../../model/schema/schemas.ts';

const KeyToImport = component(
  'KeyToImport',
  strict({ apiId: ApiId, ...IMPORTED_FIELDS }),
  'A key that was created elsewhere.',
  { apiId: EXAMPLE.apiId, ...IMPORTED_EXAMPLE },
);

export const createImportedKeys = defineRoute({
  path: '/v1/migrations.createKeys',
  method: 'POST',
  summary: 'Import up to 100 keys that were created elsewhere: all of them, or none.',
  description:
    'Send each key as `plaintext` or as its SHA-256 (`hash`). The body is a list. A limit without `async` is strict here.',
  rights: ['api.<apiId>.create_key'],
  fieldRights: NEW_KEY_RIGHTS,
  request: listOf(KeyToImport, 'The keys to import, 1 to 100.', { minItems: 1, maxItems: MAX_BATCH_ITEMS }),
  response: strict({
    keyIds: field(Type.Array(Text), 'The ids of the new keys, in the order of the list.', [EXAMPLE.keyId]),
  }),
  example: {
    request: [{ apiId: EXAMPLE.apiId, ...IMPORTED_EXAMPLE }],
    response: { keyIds: ['key_1Jm8ZtYh4mRr6GjK8uTx3S'] },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  maxBodyBytes: MAX_IMPORT_BODY_BYTES,
  async handle(engine, actor, body) {
    return {
      keyIds: await engine.imports.create(actor, await toImportedKeys(engine, actor, { items: body, list: '' })),
    };
  },
});
