import { VerifyCaller, asReader, authenticateCaller } from './caller.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import type { VerifyRequest } from '../../engine/verify/request.ts';
import { traced } from '../answer/tracer.ts';
import { checkContentType } from '../request/body.ts';
import type { Asking, Service } from '../service.ts';
import type { VerifyBody } from './verifyRequest.ts';
import { fullRequest } from './verifyRequest.ts';

/** A body, or a function that reads it. The function is called only when the caller may verify. */
type Body<B extends string | VerifyBody> = B | (() => Promise<B>);

/** The verification that a body asks for. */
type ToRequest<B> = (service: Service, body: B, caller: VerifyCaller) => VerifyRequest;

/**
 * The one entrance to a verification over HTTP. It authenticates the caller, reads the body, asks the engine and counts the verdict
 * in the metrics. It answers in the same turn when nothing has to be waited for: no authentication, a body that is there, and an engine
 * that decides from memory. A verification that is traced answers later.
 */
export function verify<B extends string | VerifyBody>(
  service: Service,
  asking: Asking,
  body: Body<B>,
  toRequest: ToRequest<B>,
): Verdict | PromiseLike<Verdict> {
  const span = service.tracer === null ? null : service.tracer.verification(asking.headers);
  return span === null
    ? verifyFor(service, asking, body, toRequest)
    : traced(
        span,
        async () => verifyFor(service, asking, body, toRequest),
        ({ code }) => ({ verdict: code }),
      );
}

function verifyFor<B extends string | VerifyBody>(
  service: Service,
  asking: Asking,
  body: Body<B>,
  toRequest: ToRequest<B>,
): Verdict | PromiseLike<Verdict> {
  checkContentType(asking.headers);
  const caller = authenticateCaller(service, asking);
  return 'then' in caller
    ? caller.then((known) => verifyAs(service, known, body, toRequest))
    : verifyAs(service, caller, body, toRequest);
}

/** `client`: in whose name the reading waits for its turn. */
type ReadBodies = (client: string) => Promise<readonly VerifyBody[]>;

interface VerifiedEach {
  readonly results: readonly PromiseSettledResult<Verdict>[];
  readonly client: string;
}

/**
 * Verifies many keys for one caller, each as `verify` does. All bodies are read before the engine is asked for the first one: a request
 * that cannot be understood, or that exceeds the quota, takes nothing.
 */
export async function verifyEach(service: Service, asking: Asking, readBodies: ReadBodies): Promise<VerifiedEach> {
  const span = service.tracer?.verification(asking.headers) ?? null;
  return span === null
    ? verifyEachFor(service, asking, readBodies)
    : traced(
        span,
        () => verifyEachFor(service, asking, readBodies),
        () => ({}),
      );
}

async function verifyEachFor(service: Service, asking: Asking, readBodies: ReadBodies): Promise<VerifiedEach> {
  const { turns } = service.engine;
  checkContentType(asking.headers);
  const caller = await authenticateCaller(service, asking);
  const client = caller.holder().name;
  const bodies = await readBodies(client);
  const asked: VerifyRequest[] = [];
  await turns.each(client, bodies, (body) => asked.push(fullRequest(service, body, caller)));
  caller.take(asked.length);
  const requests: VerifyRequest[] = [];
  for (const request of asked) requests.push(request.isExplained ? await asReader(service, caller, request) : request);
  const decided: Promise<Verdict>[] = [];
  await turns.each(client, requests, (request) => {
    const verdict = (async () => decide(service, request, service.monotonicMs()))();
    // All of them are awaited below. Until then, a failure must not count as unhandled.
    verdict.catch(() => {});
    decided.push(verdict);
  });
  return { results: await Promise.allSettled(decided), client };
}

function verifyAs<B extends string | VerifyBody>(
  service: Service,
  caller: VerifyCaller,
  body: Body<B>,
  toRequest: ToRequest<B>,
): Verdict | PromiseLike<Verdict> {
  if (typeof body === 'function') return body().then((read) => verifyAs(service, caller, read, toRequest));
  const startedAtMs = service.monotonicMs();
  const request = toRequest(service, body, caller);
  caller.take(1);
  if (!request.isExplained) return decide(service, request, startedAtMs);
  return asReader(service, caller, request).then((readable) => decide(service, readable, startedAtMs));
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
