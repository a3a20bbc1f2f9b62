import { nearestName } from '../basics/nearestName.ts';
import { MAX_BODY_BYTES, MAX_VERIFY_BODY_BYTES } from '../core/bounds.ts';
import { AppError, type Issue } from '../core/errors.ts';
import { type Actor, requireAny } from '../engine/admin/change/requireRight.ts';
import {
  type AnswerContext,
  answerFailure,
  failedRequest,
  HTTPS_ONLY,
  httpsOnlyCheck,
  jsonAnswer,
  MethodNotAllowed,
  notStored,
  preparedJson,
  reportFailure,
} from './answer/answer.ts';
import { streamedAnswer } from './answer/streamedAnswer.ts';
import { traced } from './answer/tracer.ts';
import { authenticateManager, isDashboardOn } from './authentication.ts';
import { PackageSite } from './clientPackages.ts';
import { dashboardEndpoints } from './dashboard.ts';
import { openApi } from './docs/openApi.ts';
import { DocsSite } from './docs/site.ts';
import { portalEndpoints } from './portal.ts';
import type { FrontContext } from './front/front.ts';
import { MemoryBudget } from './front/frontLimits.ts';
import { LargeBodies } from './front/requestBody.ts';
import { ResponseHeads } from './front/responder.ts';
import { checkContentType, hostCheck, type ReadBody, readJsonBody, queryToBody } from './request/body.ts';
import { explain, explainInSteps, isValid } from './request/explain.ts';
import { liveness, readiness } from './routes/health.ts';
import { answerForwardAuth, forwardAuth } from './routes/keys.forwardAuth.ts';
import { answerVerifyKey, verifyKey } from './routes/keys.verifyKey.ts';
import { answerVerifyKeys, verifyKeys } from './routes/keys.verifyKeys.ts';
import { answerCreateReservation, createReservation } from './routes/reservations.create.ts';
import { type Endpoint, operationsOf, type Route } from './routes/route.ts';
import { maxBodyBytesOf, pathOf, ROUTES } from './routes/routeTable.ts';
import type { Handler, Peer, Service } from './service.ts';
import { badFields } from './shapes/schema/badFields.ts';
import { makeVerdictWriter } from './verify/verdictAnswer.ts';
import { verify } from './verify/verify.ts';
import { toVerifyRequest } from './verify/verifyRequest.ts';
import { WebSite } from './webPages.ts';

/** The HTTP service as a function: from a request to its answer, never an exception. */
export function makeHandler(service: Service): Handler {
  const endpoints = endpointTable(service);
  const site = new WebSite(service.log);
  const dashboard = dashboardEndpoints(service, site);
  for (const [path, endpoint] of [...dashboard.byPath, ...portalEndpoints(service, site)])
    endpoints.set(path, endpoint);
  const isHttpsOnly = httpsOnlyCheck(service.config);
  const toBrowser = (response: Response, request: Request, origins: readonly string[] | null): Response => {
    if (isHttpsOnly(request)) response.headers.set('strict-transport-security', HTTPS_ONLY);
    return withCors(response, request, origins);
  };
  const packages = new PackageSite();
  const find = (path: string): Endpoint | undefined =>
    endpoints.get(path) ?? site.assetAt(path) ?? packages.at(path) ?? dashboard.below(path);
  return async (request, peer) => {
    const url = new URL(request.url);
    const context: AnswerContext = {
      requestId: service.requestIds.next(),
      isPretty: url.searchParams.has('pretty'),
      linkBase: service.config.publicUrl ?? '',
    };
    const path = pathOf(url);
    // The pages that a gateway serves do not call this service. What they may read, the gateway says.
    const origins = path === forwardAuth.path ? null : service.config.corsOrigins;
    try {
      return toBrowser(await route(endpoints, find(path), { path, request, peer, context }), request, origins);
    } catch (failure) {
      return toBrowser(answerFailure(service, failure, failedRequest(request), context), request, origins);
    }
  };
}

function endpointTable(service: Service): Map<string, Endpoint> {
  const table = new Map<string, Endpoint>();
  for (const managed of ROUTES) table.set(managed.path, managementEndpoint(service, managed));
  const verdicts = makeVerdictWriter(service);
  table.set(verifyKey.path, {
    methods: ['POST'],
    answer: (request, peer) => answerVerifyKey(service, verdicts, request, peer),
  });
  table.set(verifyKeys.path, {
    methods: ['POST'],
    answer: (request, peer, context) => answerVerifyKeys(service, verdicts, request, peer, context),
  });
  table.set(createReservation.path, {
    methods: ['POST'],
    answer: (request, peer) => answerCreateReservation(service, verdicts, request, peer),
  });
  table.set(forwardAuth.path, {
    methods: 'any',
    answer: (request, peer, answer) => answerForwardAuth(service, request, { verdicts, peer, answer }),
  });
  const health = { methods: ['GET', 'POST'] };
  table.set(liveness.path, {
    ...health,
    answer: async (_request, _peer, context) => jsonAnswer(liveness.handle(), context),
  });
  table.set(readiness.path, {
    ...health,
    answer: async (request, _peer, context) => {
      const asked = queryToBody(readiness.request, new URL(request.url).searchParams);
      if (!isValid(readiness.request, asked)) throw badFields(explain(readiness.request, asked));
      return readiness.handle(service, asked, context);
    },
  });
  // Built on the first request, so that a start does not wait for them.
  const document = once(() => openApi(service.config.publicUrl));
  const plain = once(() => new TextEncoder().encode(JSON.stringify(document())));
  const indented = once(() => new TextEncoder().encode(JSON.stringify(document(), null, 2)));
  table.set('/openapi.json', {
    methods: ['GET'],
    answer: async (_request, _peer, context) => preparedJson((context.isPretty ? indented : plain)(), context),
  });
  const operationIds = (): ReadonlySet<string> =>
    new Set(
      Object.values(document().paths).flatMap((methods) => Object.values(methods).map((each) => each.operationId)),
    );
  const site = new DocsSite(once(operationIds), isDashboardOn(service.config));
  for (const path of site.paths) {
    table.set(path, { methods: ['GET'], answer: (request, _peer, context) => site.answer(path, request, context) });
  }
  return table;
}

async function route(
  endpoints: ReadonlyMap<string, Endpoint>,
  endpoint: Endpoint | undefined,
  { path, request, peer, context }: { path: string; request: Request; peer: Peer; context: AnswerContext },
): Promise<Response> {
  if (endpoint === undefined) throw unknownRoute(path, [...endpoints.keys()]);
  if (endpoint.methods === 'any') return endpoint.answer(request, peer, context);
  const allow = endpoint.methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ');
  if (request.method === 'OPTIONS') {
    return new Response(null, { status: 204, headers: { allow, 'keystile-request-id': context.requestId } });
  }
  // For HEAD, the server leaves out the body and sends its length.
  if (!endpoint.methods.includes(request.method === 'HEAD' ? 'GET' : request.method))
    throw new MethodNotAllowed(path, request.method, allow);
  return endpoint.answer(request, peer, context);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function managementEndpoint(service: Service, managed: Route): Endpoint {
  const operations = operationsOf(managed);
  return {
    methods: managed.method === 'GET' ? ['GET', 'POST'] : ['POST'],
    answer(request, peer, context) {
      const { tracer } = service;
      if (tracer === null) return answerCall(request, peer, context);
      const { method, headers } = request;
      const span = tracer.call({ method, path: managed.path, requestId: context.requestId }, headers);
      if (span === null) return answerCall(request, peer, context);
      return traced(
        span,
        () => answerCall(request, peer, context),
        ({ status }) => ({ status }),
      );
    },
  };

  async function answerCall(request: Request, peer: Peer, context: AnswerContext): Promise<Response> {
    const startedAt = service.monotonicMs();
    const { engine } = service;
    const { actor, sessionId } = await authenticateManager(service, request, { peer, requestId: context.requestId });
    requireAny(actor, operations);
    if (managed.isUse !== true) engine.managementQuota.takeCall(actor.id, engine.storage.ledger.nowMs());
    const read = await readRequest(service, managed, request, actor);
    const issues = await issuesOf(service, managed, read, actor);
    if (issues.length > 0) throw badFields(issues);
    const body = read.value;
    const streamed = await managed.stream?.open(engine, actor, body, request.headers.get('accept'));
    const response =
      streamed == null
        ? jsonAnswer(await managed.handle(engine, actor, body), context, managed.status)
        : await streamedAnswer(streamed, context, (failure) =>
            reportFailure(service, failure, failedRequest(request), context.requestId),
          );
    service.metrics.managed(service.monotonicMs() - startedAt);
    return sessionId === null ? response : notStored(response);
  }
}

async function readRequest(service: Service, managed: Route, request: Request, actor: Actor): Promise<ReadBody> {
  if (request.method !== 'POST') {
    return { value: queryToBody(managed.request, new URL(request.url).searchParams), isLarge: false };
  }
  checkContentType(request.headers);
  const { managementQuota, storage } = service.engine;
  return readJsonBody(service, request, {
    maxBytes: managed.maxBodyBytes ?? MAX_BODY_BYTES,
    client: actor.id,
    ...(managed.isUse === true
      ? {}
      : { arrived: (bytes) => managementQuota.takeBytes(actor.id, bytes, storage.ledger.nowMs()) }),
  });
}

async function issuesOf(
  { engine: { turns } }: Service,
  { request }: Route,
  { value, isLarge }: ReadBody,
  actor: Actor,
): Promise<Issue[]> {
  if (isLarge) return explainInSteps(request, value, () => turns.giveWay(actor.id));
  return isValid(request, value) ? [] : explain(request, value);
}

function unknownRoute(path: string, known: readonly string[]): AppError {
  const near = nearestName(path, known);
  return new AppError(
    'NOT_FOUND',
    near === null ? 'Unknown route. /docs lists all routes.' : `Unknown route. Did you mean ${near}?`,
  );
}

/** Lets pages of permitted origins read the answer. Nothing is added where CORS is off. */
function withCors(response: Response, request: Request, origins: readonly string[] | null): Response {
  const origin = request.headers.get('origin');
  if (origins === null || origin === null) return response;
  response.headers.append('vary', 'Origin');
  if (!origins.includes('*') && !origins.includes(origin)) return response;
  response.headers.set('access-control-allow-origin', origins.includes('*') ? '*' : origin);
  response.headers.set(
    'access-control-expose-headers',
    // Date: a page that compares its clock with the service's needs it.
    'Date, Keystile-Request-Id, Keystile-Replayed, RateLimit, RateLimit-Policy, Retry-After',
  );
  if (request.method === 'OPTIONS') {
    response.headers.set('access-control-allow-methods', 'GET, POST');
    response.headers.set('access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key');
    response.headers.set('access-control-max-age', '600');
  }
  return response;
}

/** What the connections of a front share: a plain verification takes the fast path, everything else is routed. */
export function makeFrontContext(service: Service): FrontContext {
  const { config, engine } = service;
  return {
    fast: {
      path: verifyKey.path,
      maxBodyBytes: MAX_VERIFY_BODY_BYTES,
      decide: (asking, body) => verify(service, asking, body, toVerifyRequest),
      ...makeVerdictWriter(service),
    },
    handle: makeHandler(service),
    answerFailure: (failure, request) => answerFailure(service, failure, request),
    maxBodyBytes: maxBodyBytesOf,
    heads: new ResponseHeads(() => engine.system.nowMs()),
    responded: (status) => service.metrics.responded(status),
    lifetime: service.lifetime,
    hasCors: config.corsOrigins !== null,
    checkHost: hostCheck(config.host, config.publicUrl),
    turns: engine.turns,
    clientOf: service.clientOf,
    largeBodies: new LargeBodies({
      after: (milliseconds, work) => void setTimeout(work, milliseconds),
      afterOthers: (work) => void setImmediate(work),
    }),
    memory: new MemoryBudget(),
  };
}
