import type { VerifyRequest } from '../../engine/verify/request.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import { checkContentType } from '../request/body.ts';
import type { Asking, Service } from '../service.ts';
import { type Asker, authenticateAsker } from './asker.ts';
import type { VerifyBody } from './verifyBody.ts';
import { fullRequest, toReserveRequest, toVerifyRequest } from './verifyRequest.ts';

/** The text of a body, or a function that reads it. The function is called only when the asker may verify. */
export type BodyText = string | (() => Promise<string>);

/**
 * The one entrance to a verification over HTTP. It authenticates the asker, reads the body, asks the engine and counts the verdict
 * in the metrics. It answers in the same turn when nothing has to be waited for: no authentication, a body that is there, and an engine
 * that decides from memory.
 */
export function verify(service: Service, asking: Asking, body: BodyText): Verdict | PromiseLike<Verdict> {
  checkContentType(asking.headers);
  const asker = authenticateAsker(service, asking);
  return 'then' in asker ? asker.then((known) => verifyAs(service, known, body)) : verifyAs(service, asker, body);
}

/**
 * Verifies many keys for one asker, each as `verify` does. All bodies are read before the engine is asked for the first one: a request
 * that cannot be understood, or that exceeds the quota, takes nothing.
 */
export async function verifyEach(
  service: Service,
  asking: Asking,
  readBodies: () => Promise<readonly VerifyBody[]>,
): Promise<PromiseSettledResult<Verdict>[]> {
  checkContentType(asking.headers);
  const asker = await authenticateAsker(service, asking);
  const bodies = await readBodies();
  const requests = bodies.map((body) => fullRequest(service, body, null, asker));
  asker.take(requests.length);
  return Promise.allSettled(requests.map(async (request) => decide(service, request, service.monotonicMs())));
}

/** Verifies a key and holds its credits. */
export async function reserve(service: Service, asking: Asking, readText: () => Promise<string>): Promise<Verdict> {
  checkContentType(asking.headers);
  const asker = await authenticateAsker(service, asking);
  const text = await readText();
  const startedAtMs = service.monotonicMs();
  const request = toReserveRequest(service, text, asker);
  asker.take(1);
  return decide(service, request, startedAtMs);
}

function verifyAs(service: Service, asker: Asker, body: BodyText): Verdict | PromiseLike<Verdict> {
  if (typeof body !== 'string') return body().then((text) => verifyAs(service, asker, text));
  const startedAtMs = service.monotonicMs();
  const request = toVerifyRequest(service, body, asker);
  asker.take(1);
  return decide(service, request, startedAtMs);
}

/** The engine counts the verdict for analytics. */
function decide(service: Service, request: VerifyRequest, startedAtMs: number): Verdict | PromiseLike<Verdict> {
  const decided = service.engine.verifier.verify(request);
  return 'then' in decided
    ? decided.then((verdict) => measured(service, verdict, startedAtMs))
    : measured(service, decided, startedAtMs);
}

function measured(service: Service, verdict: Verdict, startedAtMs: number): Verdict {
  service.metrics.verified(verdict.code, service.monotonicMs() - startedAtMs);
  return verdict;
}
