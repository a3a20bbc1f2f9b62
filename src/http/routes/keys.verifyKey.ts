import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { readBody } from '../request/body.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { VERDICT_EXAMPLE, VerdictObject } from '../shapes/keys/verdictSchema.ts';
import type { Peer, Service } from '../service.ts';
import { type GeneralVerdictWriter, VERDICT_HEADERS, verdictResponse } from '../verify/verdictAnswer.ts';
import { verify } from '../verify/verify.ts';
import { VerifyBody, toVerifyRequest } from '../verify/verifyRequest.ts';

/** Describes this route for the documentation. It is not in the table of routes, because the front answers it directly. */
export const verifyKey = {
  path: '/v1/keys.verifyKey',
  method: 'POST',
  summary: 'Verify a key: may this request pass?',
  description:
    'Every verdict is HTTP 200: read `valid` and `code`. The checks run in this order, and the first that fails decides the code: the key exists, its api, enabled, expiry, address, permissions, rate limits, credits. With the code VALID, the credits and limits of the request are taken together; with any other code, nothing is taken. No root key is needed, unless KEYSTILE_VERIFY_AUTH is `required`: then the root key needs the right `api.<apiId>.verify_key`.',
  command: { flags: { 'remaining.cost': 'cost', ratelimits: 'ratelimit' }, refuses: 'valid' },
  request: VerifyBody,
  response: VerdictObject,
  headers: VERDICT_HEADERS,
  example: {
    request: { key: EXAMPLE.secret },
    response: VERDICT_EXAMPLE,
  },
} as const;

/** Answers a verification that the front does not answer directly: a chunked body, a query, or a page of another origin. */
export async function answerVerifyKey(
  service: Service,
  verdicts: GeneralVerdictWriter,
  request: Request,
  peer: Peer,
): Promise<Response> {
  const asking = { headers: request.headers, peer };
  const verdict = await verify(service, asking, () => readBody(request, MAX_VERIFY_BODY_BYTES), toVerifyRequest);
  return verdictResponse(verdicts, verdict, verdicts.text(verdict), request);
}
