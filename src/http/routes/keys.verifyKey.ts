import { Type } from 'typebox';

import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { readBody } from '../request/body.ts';
import { IdentityObject } from '../shapes/keyObject.ts';
import { strict } from '../shapes/schemas.ts';
import type { Peer, Service } from '../service.ts';
import type { HeaderPair } from '../verify/verdictHeaders.ts';
import type { GeneralVerdictWriter } from '../verify/verdictWriter.ts';
import { verify } from '../verify/verify.ts';
import { VerifyBody } from '../verify/verifyBody.ts';

const JSON_HEADER: HeaderPair = ['content-type', 'application/json'];

const LimitAnswer = { limit: Type.Integer(), remaining: Type.Integer(), reset: Type.Integer() };

export const VerdictObject = strict({
  valid: Type.Boolean(),
  code: Type.String(),
  requestId: Type.String(),
  keyId: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  ownerId: Type.Optional(Type.String()),
  meta: Type.Object({}),
  expires: Type.Optional(Type.Integer()),
  enabled: Type.Optional(Type.Boolean()),
  environment: Type.Optional(Type.String()),
  permissions: Type.Optional(Type.Array(Type.String())),
  roles: Type.Optional(Type.Array(Type.String())),
  identity: Type.Optional(IdentityObject),
  remaining: Type.Optional(Type.Integer()),
  ratelimit: Type.Optional(strict(LimitAnswer)),
  ratelimits: Type.Optional(
    Type.Array(strict({ name: Type.String(), ...LimitAnswer, async: Type.Boolean(), exceeded: Type.Boolean() })),
  ),
});

/** Describes this route for the documentation. It is not in the table of routes, because the front answers it directly. */
export const verifyKey = {
  path: '/v1/keys.verifyKey',
  method: 'POST',
  summary: 'Verify a key: may this request pass? Every verdict is HTTP 200; `valid` and `code` contain it.',
  request: VerifyBody,
  response: VerdictObject,
  example: {
    request: { key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
    response: {
      valid: true,
      code: 'VALID',
      requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111',
      keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
      meta: {},
      enabled: true,
      permissions: [],
      roles: [],
      remaining: 2,
    },
  },
} as const;

/** Answers a verification that the front does not answer directly: a chunked body, a query, or a page of another origin. */
export async function answerVerification(
  service: Service,
  verdicts: GeneralVerdictWriter,
  request: Request,
  peer: Peer,
): Promise<Response> {
  const { headers, url } = request;
  const verdict = await verify(service, { headers, peer }, () => readBody(request, MAX_VERIFY_BODY_BYTES));
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  const text = verdicts.text(verdict);
  return new Response(isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text, {
    headers: [JSON_HEADER, ...verdicts.headerPairs(verdict)].map(([name, value]) => [name, value]),
  });
}
