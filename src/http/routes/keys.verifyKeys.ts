import { Compile } from 'typebox/compile';
import { Type } from 'typebox';

import { MAX_BATCH_ITEMS, MAX_VERIFY_BATCH_BODY_BYTES } from '../../core/bounds.ts';
import type { VerifyRequest } from '../../engine/verify/request.ts';
import { type AnswerContext, errorBody, jsonText } from '../answer/answer.ts';
import { checkContentType, readBodyStrictly } from '../request/body.ts';
import { explain } from '../request/explain.ts';
import { failedRequest, noteFailure } from '../answer/reportFailure.ts';
import { badFields } from '../shapes/keyFields.ts';
import { strict } from '../shapes/schemas.ts';
import type { Peer, Service } from '../service.ts';
import { verdictText } from '../verify/verdictText.ts';
import { VerifyBody } from '../verify/verifyBody.ts';
import { authenticateAsker, fullRequest, HttpCaller } from '../verify/verifyRequest.ts';
import { VerdictObject, verifyKey } from './keys.verifyKey.ts';

const Body = strict({ keys: Type.Array(VerifyBody, { minItems: 1, maxItems: MAX_BATCH_ITEMS }) });
const ErrorObject = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String() }) });
const compiled = Compile(Body);

export const verifyKeys = {
  path: '/v1/keys.verifyKeys',
  method: 'POST',
  summary:
    'Verify up to 100 keys in one call, each as keys.verifyKey would, in order. One that cannot be decided has an `error` in the place of its verdict; the others stand.',
  request: Body,
  response: strict({ results: Type.Array(Type.Union([VerdictObject, ErrorObject])) }),
  example: {
    request: { keys: [verifyKey.example.request] },
    response: { results: [verifyKey.example.response] },
  },
} as const;

export async function answerVerifications(
  service: Service,
  request: Request,
  peer: Peer,
  context: AnswerContext,
): Promise<Response> {
  checkContentType(request.headers);
  const asker = service.config.verifyAuth === 'open' ? null : await authenticateAsker(service, request.headers);
  const body = service.readJson(await readBodyStrictly(request, MAX_VERIFY_BATCH_BODY_BYTES));
  if (!compiled.Check(body)) throw badFields(explain(Body, body));
  // All are read before the first is asked: a request that cannot be understood takes nothing.
  const asking = { headers: request.headers, peer };
  const asked = body.keys.map((key) =>
    fullRequest(service, key, null, new HttpCaller(service, asking, asker === null ? null : asker.mayVerify)),
  );
  asker?.take(asked.length);
  const answers = asked.map((each) =>
    answerOne(service, each).catch((failure: unknown) => {
      noteFailure(service, failure, failedRequest(request), context.requestId);
      return JSON.stringify(errorBody(failure, context));
    }),
  );
  const results = await Promise.all(answers);
  return jsonText(`{"results":[${results.join(',')}]}`, context);
}

async function answerOne(service: Service, asked: VerifyRequest): Promise<string> {
  const startedAt = service.monotonicMs();
  const verdict = await service.engine.verifier.verify(asked);
  service.metrics.verified(verdict.code, service.monotonicMs() - startedAt);
  return verdictText(verdict, service.requestIds.next());
}
