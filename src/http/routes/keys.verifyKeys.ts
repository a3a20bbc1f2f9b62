import { Compile } from 'typebox/compile';
import { type Static, Type } from 'typebox';

import { MAX_BATCH_ITEMS, MAX_VERIFY_BATCH_BODY_BYTES } from '../../core/bounds.ts';
import { type AnswerContext, errorBody, failedRequest, jsonText, reportFailure } from '../answer/answer.ts';
import { readJsonBody } from '../request/body.ts';
import { explain, explainInSteps } from '../request/explain.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { field, listOf } from '../../model/schema/described.ts';
import { ErrorObject } from '../shapes/schema/errorObject.ts';
import { strict } from '../../model/schema/schemas.ts';
import { VERDICT_EXAMPLE, VerdictObject } from '../shapes/keys/verdictSchema.ts';
import type { Peer, Service } from '../service.ts';
import type { VerdictWriter } from '../verify/verdictAnswer.ts';
import { verifyEach } from '../verify/verify.ts';
import { VerifyBody } from '../verify/verifyRequest.ts';
import { verifyKey } from './keys.verifyKey.ts';

const Body = strict({
  keys: listOf(VerifyBody, 'The verifications, 1 to 100. They are decided in order.', {
    minItems: 1,
    maxItems: MAX_BATCH_ITEMS,
  }),
});
const compiled = Compile(Body);

export const verifyKeys = {
  path: '/v1/keys.verifyKeys',
  method: 'POST',
  summary: 'Verify up to 100 keys in one call, in order, each as keys.verifyKey does.',
  description:
    'A key that cannot be decided gets an `error` instead of a verdict; the others still get their verdicts. No root key is needed, unless KEYSTILE_VERIFY_AUTH is `required`: then the root key needs the right `api.<apiId>.verify_key`.',
  request: Body,
  response: strict({
    results: field(
      Type.Array(Type.Union([VerdictObject, ErrorObject])),
      'A verdict for each key, in the order of the request, or an error for a key that could not be decided.',
      [VERDICT_EXAMPLE],
    ),
  }),
  example: {
    request: { keys: [verifyKey.example.request] },
    response: { results: [verifyKey.example.response] },
  },
} as const;

export async function answerVerifyKeys(
  service: Service,
  verdicts: VerdictWriter,
  request: Request,
  peer: Peer,
  context: AnswerContext,
): Promise<Response> {
  const asking = { headers: request.headers, peer };
  const { results, client } = await verifyEach(service, asking, (caller) => readKeys(service, request, caller));
  const texts: string[] = [];
  await service.engine.turns.each(client, results, (result) => {
    if (result.status === 'fulfilled') return texts.push(verdicts.text(result.value));
    reportFailure(service, result.reason, failedRequest(request), context.requestId);
    return texts.push(JSON.stringify(errorBody(result.reason, context)));
  });
  return jsonText(`{"results":[${texts.join(',')}]}`, context);
}

async function readKeys(service: Service, request: Request, client: string): Promise<readonly VerifyBody[]> {
  const maxBytes = MAX_VERIFY_BATCH_BODY_BYTES;
  const { value, isLarge } = await readJsonBody(service, request, { maxBytes, client });
  if (!isLarge && compiled.Check(value)) return value.keys;
  const { turns } = service.engine;
  const issues = isLarge ? await explainInSteps(Body, value, () => turns.giveWay(client)) : explain(Body, value);
  if (issues.length > 0) throw badFields(issues);
  return (value as Static<typeof Body>).keys;
}
