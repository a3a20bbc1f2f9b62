import { Type } from 'typebox';

import { MAX_RIGHTS } from '../../core/bounds.ts';
import { type Issue, repeatable } from '../../core/errors.ts';
import { nearestName } from '../../basics/nearestName.ts';
import { ALL_RIGHTS, OPERATIONS, isRight, rightTo } from '../../core/rights.ts';
import { MAX_ISSUES } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { Name, strict, UnixMs, words } from '../../model/schema/schemas.ts';
import { NewRootSecret } from '../shapes/keys/secretFields.ts';

const MAX_RIGHT_LENGTH = 256;

export const createRootKey = defineRoute({
  path: '/v1/rootKeys.createRootKey',
  method: 'POST',
  summary: 'Create a root key with the rights in `permissions`.',
  description: 'The calling root key can give only rights that it has. The secret is shown only in this answer.',
  rights: ['root.*.create_root_key'],
  request: strict({
    name: field(Name, 'A name for people, 1 to 256 characters, such as the program that uses the root key.', 'deploy'),
    permissions: field(
      Type.Array(words(1, MAX_RIGHT_LENGTH), { minItems: 1, maxItems: MAX_RIGHTS }),
      'The rights of the root key, 1 to 1000, each as `resource.id.action`. The id may be `*`, and a single `*` is every right. The root key gets these rights and no others.',
      ['api.*.create_key', 'api.*.read_key'],
    ),
    expires: optional(
      UnixMs,
      'When the root key expires, in unix milliseconds, in the future. It does not expire when absent. A calling root key that expires can create only root keys that expire no later.',
      1798761600000,
    ),
  }),
  response: NewRootSecret,
  example: {
    request: { name: 'deploy', permissions: ['root.*.create_root_key'] },
    response: { rootKeyId: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R', key: 'root_4Wd4XbZe2RpVcT7uNqKs5F6hJg3M' },
  },
  errors: [],
  async handle(engine, actor, { name, permissions, expires }) {
    const issues: Issue[] = [];
    for (const [i, right] of permissions.entries()) {
      if (issues.length === MAX_ISSUES) break;
      if (!isRight(right)) issues.push(notRight(right, `permissions[${i}]`));
    }
    if (expires !== undefined && expires <= engine.storage.ledger.nowMs()) {
      issues.push({ path: 'expires', message: `expires must be in the future, in unix milliseconds, got ${expires}` });
    }
    if (issues.length > 0) throw badFields(issues);
    const input = { name, rights: [...new Set(permissions)], expiresAtMs: expires ?? null };
    const { rootKey, secret } = await engine.rootKeys.create(input, actor);
    return { rootKeyId: rootKey.id, key: secret };
  },
});

function notRight(text: string, path: string): Issue {
  const near = nearestName(
    text,
    OPERATIONS.map((operation) => rightTo(operation, ALL_RIGHTS)),
  );
  const hint = near === null ? 'rights look like "api.*.create_key"' : `did you mean ${JSON.stringify(near)}?`;
  return { path, message: `${path}: unknown right ${repeatable(text)}; ${hint}` };
}
