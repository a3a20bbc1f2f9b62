import type { Verdict } from '../../engine/verify/verdict.ts';
import type { VerifyRequest, Caller } from '../../engine/verify/request.ts';
import { traced } from '../answer/tracer.ts';
import { checkContentType } from '../request/body.ts';
import type { Asking, Service } from '../service.ts';
import { type VerifyBody, fullRequest } from './verifyRequest.ts';
import type { Address } from '../../core/address.ts';
import { AppError } from '../../core/errors.ts';
import { holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import type { QuotaHolder } from '../../engine/perSecondQuotas.ts';
import { authenticateRootKey, type RequestedBy } from '../authentication.ts';

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

/** Who asks for a verification. One request has one caller, also when it verifies many keys. */
export class VerifyCaller implements Caller {
  /** Apis whose keys the caller may verify; null = all. */
  readonly mayVerify: VerifyRequest['mayVerify'];
  readonly asking: Asking;
  readonly #service: Service;
  readonly #rootKey: RootKey | null;

  constructor(service: Service, asking: Asking, rootKey: RootKey | null) {
    this.#service = service;
    this.asking = asking;
    this.#rootKey = rootKey;
    this.mayVerify = rootKey === null ? null : (apiId) => holdsRight(rootKey.rights, 'api.verify_key', apiId);
  }

  address(): Address | null {
    return this.#service.addressOf(this.asking);
  }

  /** Counts verifications against the quota of the root key, or of the address. Throws when they are too many for this second. */
  take(count: number): void {
    const { verificationQuota, storage } = this.#service.engine;
    if (verificationQuota === null) return;
    verificationQuota.take(this.holder(), count, storage.ledger.nowMs());
  }

  /** In whose name verifications are counted, and wait for their turn. */
  holder(): QuotaHolder {
    if (this.#rootKey !== null) return { kind: 'root key', name: this.#rootKey.id };
    return { kind: 'address', name: this.#service.clientOf(this.asking) };
  }
}

/** An explanation tells more than a verdict. It needs a root key that may read the key; any other key is NOT_FOUND for it. */
async function asReader(service: Service, { asking }: VerifyCaller, request: VerifyRequest): Promise<VerifyRequest> {
  const { rights } = (await authenticateRootKey(service, asking.headers, true)).rootKey;
  if (!holdsRightSomewhere(rights, 'api.read_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'To explain a verdict, a root key needs the right api.*.read_key.');
  }
  const { mayVerify } = request;
  return {
    ...request,
    mayVerify: (apiId) => (mayVerify === null || mayVerify(apiId)) && holdsRight(rights, 'api.read_key', apiId),
  };
}

/** The one place that decides who may verify (KEYSTILE_VERIFY_AUTH). It answers at once where everyone may. */
function authenticateCaller(service: Service, asking: Asking): VerifyCaller | PromiseLike<VerifyCaller> {
  return service.config.verifyAuth === 'open' ? new VerifyCaller(service, asking, null) : authenticate(service, asking);
}

type RootKey = RequestedBy['rootKey'];

async function authenticate(service: Service, asking: Asking): Promise<VerifyCaller> {
  const { rootKey } = await authenticateRootKey(service, asking.headers, true);
  if (!holdsRightSomewhere(rootKey.rights, 'api.verify_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'This root key lacks the right api.*.verify_key.');
  }
  return new VerifyCaller(service, asking, rootKey);
}
