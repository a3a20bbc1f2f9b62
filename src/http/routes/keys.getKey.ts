import { AppError } from '../../core/errors.ts';
import { defineRoute } from './route.ts';
import { former } from '../../model/schema/described.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { KEY_FLAGS } from '../shapes/keys/keyFields.ts';
import { KeyDetailsObject, toKeyDetails } from '../shapes/holders/heldPlanObject.ts';
import { Flag, strict } from '../../model/schema/schemas.ts';

export const Decrypt = former(
  Flag,
  'Secrets are not stored, so they cannot be decrypted: true is refused with 412. false is accepted and changes nothing.',
  false,
);

/** Only a digest is stored, so nothing can be decrypted. */
export function refuseDecrypt(decrypt: boolean | undefined): void {
  if (decrypt === true)
    throw new AppError('PRECONDITION_FAILED', 'Secrets are not stored, so a key cannot be decrypted.');
}

export const getKey = defineRoute({
  path: '/v1/keys.getKey',
  method: 'GET',
  summary: 'Read one key.',
  description: 'Its secret is not stored and cannot be read.',
  rights: ['api.<apiId>.read_key'],
  command: { flags: KEY_FLAGS, absent: { expires: 'never' } },
  request: strict({ keyId: KeyId, decrypt: Decrypt }),
  response: KeyDetailsObject,
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' },
    response: {
      id: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
      start: 'demo_7Kq2',
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
      meta: { plan: 'free' },
      createdAt: 1783036800000,
      remaining: 97,
      refill: {
        interval: 'daily',
        amount: 100,
        refillDay: null,
        timezone: 'UTC',
        mode: 'restore',
        lastRefillAt: 1783036800000,
        nextRefillAt: 1783123200000,
      },
      roles: [],
      permissions: [],
      directPermissions: [],
      enabled: true,
    },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, decrypt }) {
    refuseDecrypt(decrypt);
    return toKeyDetails(await engine.keys.get(actor, keyId), engine.storage.workspaceId);
  },
});
