import { type ErrorCode, ERRORS } from '../../core/errors.ts';
import { VERSION } from '../../version.ts';
import type { FieldRights } from '../shapes/fieldRights.ts';
import type { Route } from '../routes/route.ts';
import { forwardAuth } from '../routes/keys.forwardAuth.ts';
import { liveness, readiness } from '../routes/health.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import { verifyKeys } from '../routes/keys.verifyKeys.ts';
import { ROUTES } from '../routes/routeTable.ts';
import { VERDICT_STATUS } from '../verify/verdictStatus.ts';

/** The OpenAPI 3.1 document of all routes, built from the schemas that validate requests. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers?: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly 'x-rights'?: readonly string[];
  /** One of the rights is enough. Absent: all are needed. */
  readonly 'x-one-right-is-enough'?: true;
  readonly 'x-field-rights'?: readonly FieldRights[];
  readonly parameters?: readonly object[];
  readonly requestBody?: { readonly content: { 'application/json': { schema: object; example: object } } };
  readonly responses: Readonly<Record<string, object>>;
}

/** Errors that every management call can answer. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'INSUFFICIENT_PERMISSIONS',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'INTERNAL_SERVER_ERROR',
  'UNAVAILABLE',
  'OUTCOME_UNKNOWN',
];

const VERIFY_ERRORS: readonly ErrorCode[] = [...COMMON_ERRORS, 'CONFLICT', 'RATE_LIMITED'];

export function openApi(publicUrl: string | null): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of ROUTES) paths[route.path] = managementOperations(route);
  for (const open of [verifyKey, verifyKeys]) paths[open.path] = { post: postOperation(open, VERIFY_ERRORS) };
  paths[forwardAuth.path] = { get: forwardOperation() };
  for (const health of [liveness, readiness]) paths[health.path] = { get: healthOperation(health) };
  return {
    openapi: '3.1.0',
    info: { title: 'Keystile', version: VERSION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    ...(publicUrl === null ? {} : { servers: [{ url: publicUrl }] }),
    paths,
    components: {
      securitySchemes: { rootKey: { type: 'http', scheme: 'bearer', description: 'A root key.' } },
      schemas: { Error: errorSchema() },
    },
  };
}

function managementOperations(route: Route): Record<string, Operation> {
  const secured = {
    security: [{ rootKey: [] }],
    'x-rights': route.rights,
    ...(route.isOneRightEnough === undefined ? {} : { 'x-one-right-is-enough': route.isOneRightEnough }),
    ...(route.fieldRights === undefined ? {} : { 'x-field-rights': route.fieldRights }),
  };
  const errors = [...COMMON_ERRORS, ...route.errors];
  const post = { ...postOperation(route, errors), ...secured };
  if (route.method === 'POST') return { post };
  const { requestBody: _body, ...rest } = post;
  return {
    get: { ...rest, parameters: queryParameters(route) },
    post: { ...post, operationId: `${post.operationId}.post` },
  };
}

type Described = Pick<Route, 'path' | 'summary' | 'request' | 'response' | 'example' | 'status'>;

function postOperation(route: Described, errors: readonly ErrorCode[]): Operation {
  return {
    ...named(route.path, route.summary),
    requestBody: { content: { 'application/json': { schema: route.request, example: route.example.request } } },
    responses: {
      [String(route.status ?? 200)]: success(route.response, route.example.response),
      ...errorResponses(errors),
    },
  };
}

function healthOperation(health: typeof liveness | typeof readiness): Operation {
  const example = health.path === liveness.path ? liveness.handle() : { ready: true, reasons: [], warnings: [] };
  const responses: Record<string, object> = { '200': success(health.response, example) };
  if (health.path === readiness.path) {
    responses['503'] = {
      ...success(health.response, { ready: false, reasons: ['The database has failed.'], warnings: [] }),
      description: 'Not ready.',
    };
  }
  return { ...named(health.path, health.summary), responses };
}

/** Every method is answered in the same way. The document names GET, which most gateways send. */
function forwardOperation(): Operation {
  const { path, summary, response, example } = forwardAuth;
  const responses: Record<string, object> = {
    ...errorResponses(['BAD_REQUEST', 'INTERNAL_SERVER_ERROR', 'UNAVAILABLE', 'OUTCOME_UNKNOWN']),
    '200': { ...success(response, example.response), description: 'The request may pass.', headers: FORWARD_HEADERS },
  };
  for (const code of ['EXPIRED', 'INSUFFICIENT_PERMISSIONS', 'RATE_LIMITED'] as const) {
    const status = VERDICT_STATUS[code];
    const codes = Object.entries(VERDICT_STATUS).flatMap(([each, its]) => (its === status ? [each] : []));
    responses[String(status)] = {
      description: `${codes.join(', ')}, or an error. With \`deny=403\`, every refusal but 401 is a 403.`,
      headers: FORWARD_HEADERS,
      content: {
        'application/json': {
          schema: { anyOf: [response, errorSchema()] },
          example: { ...example.response, valid: false, code },
        },
      },
    };
  }
  return { ...named(path, summary), parameters: queryParameters(forwardAuth), responses };
}

const headerOf = (description: string): object => ({ description, schema: { type: 'string' } });

const FORWARD_HEADERS: Readonly<Record<string, object>> = {
  'Keystile-Code': headerOf('The code of the verdict or of the error.'),
  'Keystile-Key-Id': headerOf('The id of the key. Absent when the key is unknown.'),
  'Keystile-External-Id': headerOf('The external id of the owner, percent-encoded. Absent without an owner.'),
  'Keystile-Remaining': headerOf('The credits that are left. Absent for a key without credits.'),
};

function named(path: string, summary: string): Pick<Operation, 'operationId' | 'summary' | 'tags'> {
  const operationId = path.replace('/v1/', '');
  return { operationId, summary, tags: [operationId.includes('.') ? (operationId.split('.')[0] ?? '') : 'health'] };
}

function success(schema: object, example: object): object {
  return { description: 'Done.', content: { 'application/json': { schema, example } } };
}

function queryParameters(route: Pick<Route, 'request' | 'example'>): object[] {
  const { properties, required = [] } = route.request as { properties?: Record<string, object>; required?: string[] };
  const example = route.example.request as Record<string, unknown>;
  return Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(example[name] === undefined ? {} : { example: example[name] }),
  }));
}

/** Codes that share a status become examples of one response. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const { status } of codes.map((code) => ERRORS[code])) {
    const same = codes.filter((code) => ERRORS[code].status === status);
    const examples = Object.fromEntries(same.map((code) => [code, { value: errorExample(code) }]));
    responses[String(status)] = {
      description: same.map((code) => ERRORS[code].when).join(' '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples } },
    };
  }
  return responses;
}

function errorExample(code: ErrorCode): object {
  const requestId = 'req_1Jm8ZuAk6pTt8HlM9vVz4T1112';
  return { error: { code, message: ERRORS[code].when, docs: `/docs/errors#${code}`, requestId } };
}

function errorSchema(): object {
  const text = { type: 'string' };
  const issue = { type: 'object', properties: { path: text, message: text }, required: ['path', 'message'] };
  return {
    type: 'object',
    properties: {
      error: {
        type: 'object',
        properties: {
          code: { enum: Object.keys(ERRORS) },
          message: text,
          docs: text,
          requestId: text,
          issues: { type: 'array', items: issue },
        },
        required: ['code', 'message', 'docs', 'requestId'],
      },
    },
    required: ['error'],
  };
}
