import { Type } from 'typebox';

import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import { checkContentType, readBody } from '../request/body.ts';
import { IdentityObject } from '../shapes/keyObject.ts';
import { strict } from '../shapes/schemas.ts';
import type { Asking, Peer, Service } from '../service.ts';
import { limitLines, verdictBytes, verdictText } from '../verify/verdictText.ts';
import { VerifyBody } from '../verify/verifyBody.ts';
import { type Asker, authenticateAsker, HttpCaller, toVerifyRequest } from '../verify/verifyRequest.ts';

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

/** What the documentation says of this route; it is answered by the functions below, which a table cannot describe. */
export const verifyKey = {
  path: '/v1/keys.verifyKey',
  method: 'POST',
  summary: 'May this request pass? Every verdict is HTTP 200; `valid` and `code` tell which.',
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

/** A verdict as it goes over the wire: its body, and the headers beside those that every answer has. */
export interface WireVerdict {
  readonly text: string;
  readonly bytes: number;
  /** Each with its end. */
  readonly headerLines: string;
}

/** A verification whose body came some other way than `verifyDirectly` takes it. */
export async function answerVerification(service: Service, request: Request, peer: Peer): Promise<Response> {
  const { headers, url } = request;
  checkContentType(headers);
  const asker = service.config.verifyAuth === 'open' ? null : await authenticateAsker(service, headers);
  const body = await readBody(request, MAX_VERIFY_BODY_BYTES);
  const verdict = await decide(service, { headers, peer }, asker, body);
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  const shown = isPretty ? JSON.stringify(JSON.parse(verdict.text), null, 2) : verdict.text;
  return new Response(shown, {
    headers: [['content-type', 'application/json'], ...pairsOf(verdict.headerLines)],
  });
}

/** The hot path: a request that is there as a whole, without a query. A promise only where something has to be waited for. */
export function verifyDirectly(service: Service, asking: Asking, body: string): WireVerdict | PromiseLike<WireVerdict> {
  checkContentType(asking.headers);
  if (service.config.verifyAuth === 'open') return decide(service, asking, null, body);
  return authenticateAsker(service, asking.headers).then((asker) => decide(service, asking, asker, body));
}

/** From the text of a body to the verdict, with nothing on the way that is not needed. */
function decide(
  service: Service,
  asking: Asking,
  asker: Asker | null,
  body: string,
): WireVerdict | PromiseLike<WireVerdict> {
  const startedAt = service.monotonicMs();
  const caller = new HttpCaller(service, asking, asker === null ? null : asker.mayVerify);
  const asked = toVerifyRequest(service, body, caller);
  asker?.take(1);
  const decided = service.engine.verifier.verify(asked);
  return 'then' in decided
    ? decided.then((verdict) => finish(service, verdict, startedAt))
    : finish(service, decided, startedAt);
}

function finish(service: Service, verdict: Verdict, startedAt: number): WireVerdict {
  const text = verdictText(verdict, service.requestIds.next());
  const headerLines = verdict.limits === null && !verdict.replayed ? '' : headerLinesOf(service, verdict);
  service.metrics.verified(verdict.code, service.monotonicMs() - startedAt);
  return { text, bytes: verdictBytes(verdict, text), headerLines };
}

function headerLinesOf(service: Service, verdict: Verdict): string {
  const replayed = verdict.replayed ? 'keystile-replayed: true\r\n' : '';
  return verdict.limits !== null && service.config.ratelimitHeaders ? replayed + limitLines(verdict) : replayed;
}

function pairsOf(headerLines: string): [name: string, value: string][] {
  return headerLines
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
}
