import type { ErrorCode } from '../../core/errors.ts';
import { liveness, readiness } from '../routes/health.ts';
import type { Route } from '../routes/route.ts';
import type { AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import type { FieldRights } from '../shapes/schema/fieldRights.ts';
import type { Components } from './components.ts';
import { neededRights } from './neededRights.ts';
import type { CodeSample } from './samples.ts';

/** One method of one path. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly 'x-rights'?: readonly string[];
  /** One of the rights is enough. Absent: all are needed. */
  readonly 'x-one-right-is-enough'?: true;
  readonly 'x-field-rights'?: readonly FieldRights[];
  /** Needed in place of `x-rights`, with one of these fields. */
  readonly 'x-instead-rights'?: readonly FieldRights[];
  readonly 'x-codeSamples'?: readonly CodeSample[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: { readonly 'application/json': { readonly schema: object; readonly example: object } };
  };
  readonly responses: Readonly<Record<string, object>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: object;
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

type Described = Pick<
  Route,
  'path' | 'summary' | 'description' | 'request' | 'response' | 'example' | 'status' | 'stream'
> & {
  /** The headers of a success. Absent: those that every answer has. */
  readonly headers?: readonly AnswerHeader[];
};

const USUAL_HEADERS: readonly AnswerHeader[] = ['keystile-request-id'];

export function managementOperations(route: Route, components: Components): Record<string, Operation> {
  const secured = {
    security: [{ rootKey: [] }],
    'x-rights': route.rights,
    ...(route.isOneRightEnough === undefined ? {} : { 'x-one-right-is-enough': route.isOneRightEnough }),
    ...(route.fieldRights === undefined ? {} : { 'x-field-rights': route.fieldRights }),
    ...(route.insteadRights === undefined ? {} : { 'x-instead-rights': route.insteadRights }),
  };
  const description = [route.description ?? [], neededRights(route)].flat().join('\n\n');
  const post = {
    ...postOperation({ ...route, description }, [...COMMON_ERRORS, ...route.errors], components),
    ...secured,
  };
  if (route.method === 'POST') return { post };
  const { requestBody: _body, ...rest } = post;
  return {
    get: { ...rest, parameters: queryParameters(route, components) },
    post: {
      ...post,
      operationId: `${post.operationId}.post`,
      summary: `${post.summary.slice(0, -1)}, with the fields as JSON.`,
      description: `The same as GET, for programs that use POST alone. ${description}`,
    },
  };
}

export function verifyOperation(route: Described, components: Components): Operation {
  return { ...postOperation(route, VERIFY_ERRORS, components), security: [{}, { rootKey: [] }] };
}

function postOperation(route: Described, errors: readonly ErrorCode[], components: Components): Operation {
  const { request, response, example, status = 200, headers = USUAL_HEADERS } = route;
  const described = describedAs(route);
  const name = inPascalCase(described.operationId);
  const answer = components.named(`${name}Answer`, response, `The answer of \`${described.operationId}\`.`);
  return {
    ...described,
    security: [],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: components.named(`${name}Request`, request, `The fields of \`${described.operationId}\`.`),
          example: example.request,
        },
      },
    },
    responses: {
      [String(status)]: {
        ...success(answer, example.response, status === 202 ? 'Accepted.' : 'Done.', route.stream?.examples),
        headers: components.headersOf(headers),
      },
      ...components.errorResponses(errors),
    },
  };
}

export function healthOperation(health: typeof liveness | typeof readiness, components: Components): Operation {
  const described = describedAs(health);
  const schema = components.named(
    `${inPascalCase(described.operationId)}Answer`,
    health.response,
    `The answer of \`${described.operationId}\`.`,
  );
  const errors = components.errorResponses(['METHOD_NOT_ALLOWED', 'INTERNAL_SERVER_ERROR']);
  const answer = (example: object, description: string): object => ({
    ...success(schema, example, description),
    headers: components.headersOf(USUAL_HEADERS),
  });
  if (health.path === liveness.path) {
    return { ...described, security: [], responses: { '200': answer(liveness.handle(), 'Done.'), ...errors } };
  }
  const ready = { ready: true, reasons: [], warnings: [] };
  const notReady = { ready: false, reasons: ['The database has failed.'], warnings: [] };
  return {
    ...described,
    security: [],
    parameters: queryParameters(readiness, components),
    responses: {
      '200': answer(ready, 'Ready.'),
      ...components.errorResponses(['BAD_REQUEST']),
      ...errors,
      '503': answer(notReady, 'Not ready.'),
    },
  };
}

export function describedAs({ path, summary, description }: Pick<Route, 'path' | 'summary' | 'description'>) {
  const operationId = path.replace('/v1/', '');
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [operationId.includes('.') ? (operationId.split('.')[0] ?? '') : 'health'],
  };
}

function success(
  schema: object,
  example: object,
  description: string,
  texts: Readonly<Record<string, string>> = {},
): object {
  const content: Record<string, object> = { 'application/json': { schema, example } };
  for (const [type, text] of Object.entries(texts)) content[type] = { schema: { type: 'string' }, example: text };
  return { description, content };
}

/** A parameter has the words and the first example of its schema. */
export function queryParameters(route: Pick<Route, 'request'>, components: Components): Parameter[] {
  const { properties, required = [] } = route.request as { properties?: Record<string, object>; required?: string[] };
  return Object.entries(properties ?? {}).map(([name, property]) => {
    const { description, examples, ...schema } = components.shown(property) as {
      description?: string;
      examples?: readonly unknown[];
    };
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      ...(examples === undefined ? {} : { example: examples[0] }),
      schema,
    };
  });
}

function inPascalCase(operationId: string): string {
  return operationId.replaceAll(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
