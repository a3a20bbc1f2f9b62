import { type ErrorCode, ERRORS } from '../../core/errors.ts';
import { headersOfStatus } from '../answer/answer.ts';
import { liveness, readiness } from '../routes/health.ts';
import { FORWARD_HEADERS, forwardAuth } from '../routes/keys.forwardAuth.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import { verifyKeys } from '../routes/keys.verifyKeys.ts';
import { createReservation } from '../routes/reservations.create.ts';
import type { Route } from '../routes/route.ts';
import { ROUTES } from '../routes/routeTable.ts';
import { ANSWER_HEADERS, type AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import { errorExample, ErrorObject } from '../shapes/schema/errorObject.ts';
import type { FieldRights } from '../shapes/schema/commonFields.ts';
import { VERDICT_STATUS } from '../verify/verdictAnswer.ts';
import { componentOf, EXPECTED, shownFor } from '../../model/schema/described.ts';
import { VERSION } from '../../version.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';

/** The OpenAPI 3.1 document of all routes, built from the schemas that validate requests. */
interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string; readonly 'x-displayName': string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

const CUSTOMER_NAMES =
  'In the names of fields, calls and events a customer is an `identity`: `identityId` is its id here, and `externalId`, in some places `ownerId`, is your own id of it.';

const DESCRIPTION = `API keys with exact credits, scheduled refill and rate limits.

Requests and answers are JSON. Management calls need a root key as \`Authorization: Bearer root_...\`. Verifying needs only the key, unless \
KEYSTILE_VERIFY_AUTH is \`required\`. Every GET endpoint also answers POST with the same fields as JSON. An unknown field answers 400, and the \
message names the nearest known one. Times are unix milliseconds (UTC), and durations are milliseconds. Fields that are not set are absent \
from answers. \`?pretty\` indents an answer. Every failure is an \`Error\` with a code, a message that says what to do, and the id of the request.

Two words are used throughout. A *customer* is whoever keys belong to: one of your users or organisations. ${CUSTOMER_NAMES} *Credits* are \
what verifications spend: \`remaining\` of a key or customer says how many are left.

The [guides](/docs/guides) explain how the calls work together. The page [Errors](/docs/errors) has all error codes.`;

interface Group {
  /** Its name, as viewers of the document show it. */
  readonly title: string;
  readonly words: string;
  readonly guide: string;
}

/** What the groups of endpoints are for, in the order in which they are shown, and the guide that explains each. */
const TAGS: Readonly<Record<string, Group>> = {
  keys: {
    title: 'Keys',
    words: 'Verify, create, read, change, rotate and delete keys, and give them roles and permissions.',
    guide: 'keys',
  },
  apis: {
    title: 'Apis',
    words: 'Groups of keys that belong to one of your services, with the defaults for their new keys.',
    guide: 'apis',
  },
  identities: {
    title: 'Customers',
    words: `Your users or organisations, with limits and credits that all their keys share. ${CUSTOMER_NAMES} \`remaining\` says how many credits are left.`,
    guide: 'customers',
  },
  plans: {
    title: 'Plans',
    words:
      'The credits, limits and permissions that customers buy. The holders of a plan are the customers on it, and the keys on it that have no customer.',
    guide: 'plans',
  },
  credits: { title: 'Credits', words: 'Grant credits for a payment, once, and correct them.', guide: 'credits' },
  reservations: {
    title: 'Reservations',
    words: 'Hold credits for a call whose cost is known only afterwards, then charge what it has cost.',
    guide: 'reservations',
  },
  permissions: {
    title: 'Permissions and roles',
    words: 'Permissions, which verifications ask for, and roles, which are named sets of them.',
    guide: 'permissions',
  },
  ratelimits: {
    title: 'Standalone limits',
    words: 'Limit anything by an identifier of your own, without a key.',
    guide: 'standalone-limits',
  },
  analytics: {
    title: 'Analytics',
    words: 'How often keys were verified, with which verdict, by key, customer, tag and time.',
    guide: 'analytics',
  },
  usage: {
    title: 'Statements',
    words: 'What happened to credits, by day and by refill period, exact enough for a bill.',
    guide: 'usage',
  },
  migrations: {
    title: 'Imports',
    words: 'Import keys that were created elsewhere. Your customers keep using them.',
    guide: 'imports',
  },
  rootKeys: {
    title: 'Root keys',
    words: 'The secrets that management calls need, each with its rights.',
    guide: 'root-keys',
  },
  portal: { title: 'Portal', words: 'Links to a page where one customer sees its own keys.', guide: 'portal' },
  sessions: { title: 'Sessions', words: 'The browsers that are signed in to the dashboard.', guide: 'dashboard' },
  audit: { title: 'Audit log', words: 'Who changed what, when and from where.', guide: 'audit' },
  events: { title: 'Events', words: 'What has happened, in order, to be read by a cursor.', guide: 'webhooks' },
  webhooks: {
    title: 'Webhooks',
    words: 'Events are sent to a URL of yours, signed, and repeated until it accepts them.',
    guide: 'webhooks',
  },
  service: {
    title: 'Service',
    words: 'The service itself: its nodes, how fast it answers, what is wrong and what to do, and its settings.',
    guide: 'operations',
  },
  health: {
    title: 'Health',
    words: 'Whether the process runs, and whether it can answer. For load balancers and monitors.',
    guide: 'operations',
  },
};

/** Shown before the others of their group, which keep the order of the route table. */
const FIRST = ['keys.verifyKey', 'keys.verifyKeys', 'keys.forwardAuth', 'keys.createKey', 'reservations.create'];

const ROOT_KEY_SCHEME = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A root key, which begins with `root_`. It needs the rights in `x-rights` of the operation. The first start of the service creates the first root key; `rootKeys.createRootKey` creates more.',
};

const DEFAULT_SERVER = {
  url: 'http://127.0.0.1:7878',
  description: 'A service on this machine with the default port. KEYSTILE_PUBLIC_URL sets another address.',
};

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

export function openApi(publicUrl: string | null): OpenApiDocument {
  const components = new Components();
  const server = publicUrl === null ? DEFAULT_SERVER : { url: publicUrl, description: 'This installation.' };
  const paths = pathsOf(components, server.url);
  const { schemas, responses, headers } = components;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Keystile',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [server],
    tags: Object.entries(TAGS).map(([name, { title, words, guide }]) => ({
      name,
      'x-displayName': title,
      description: `${words} [Read the guide](/docs/guides/${guide}).`,
    })),
    paths: inOrder(paths),
    components: {
      securitySchemes: { rootKey: ROOT_KEY_SCHEME },
      schemas: sorted(schemas),
      responses: sorted(responses),
      headers: sorted(headers),
    },
  };
}

function pathsOf(components: Components, url: string): Paths {
  const paths: Record<string, Record<string, Operation>> = {};
  const sampled = (operation: Operation, call: SampledCall): Operation => ({
    ...operation,
    'x-codeSamples': samplesOf(call, url),
  });
  for (const route of ROUTES) {
    const { path, example } = route;
    const call = { path, request: example.request, needsRootKey: true, isRead: route.method === 'GET' };
    paths[path] = Object.fromEntries(
      Object.entries(managementOperations(route, components)).map(([method, operation]) => [
        method,
        sampled(operation, { ...call, method: method === 'get' ? 'GET' : 'POST' }),
      ]),
    );
  }
  for (const open of [verifyKey, verifyKeys, createReservation]) {
    const { path, method, example } = open;
    const call = { path, method, request: example.request, needsRootKey: false, isRead: false };
    paths[path] = { post: sampled(verifyOperation(open, components), call) };
  }
  const { path, example } = forwardAuth;
  const forward = forwardOperation(components);
  paths[path] = { get: { ...forward, 'x-codeSamples': forwardSamples(path, example.request, url) } };
  for (const health of [liveness, readiness]) {
    const call = { path: health.path, method: 'GET', request: {}, needsRootKey: false, isRead: true } as const;
    paths[health.path] = { get: sampled(healthOperation(health, components), call) };
  }
  return paths;
}

function inOrder(paths: Paths): Paths {
  const groups = Object.keys(TAGS);
  const placeOf = (methods: Readonly<Record<string, Operation>>): [group: number, place: number] => {
    const { operationId = '', tags = [] } = methods['get'] ?? methods['post'] ?? {};
    const first = FIRST.indexOf(operationId);
    return [groups.indexOf(tags[0] ?? ''), first === -1 ? FIRST.length : first];
  };
  const placed = Object.entries(paths).map((entry) => ({ entry, place: placeOf(entry[1]) }));
  placed.sort(({ place: a }, { place: b }) => a[0] - b[0] || a[1] - b[1]);
  return Object.fromEntries(placed.map(({ entry }) => entry));
}

function sorted<T>(named: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)));
}

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

interface Parameter {
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

function managementOperations(route: Route, components: Components): Record<string, Operation> {
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
      summary: `${post.summary.slice(0, -1)}, by POST.`,
      description: `The same as GET, with the fields as JSON in the body, for programs that only use POST. ${description}`,
    },
  };
}

function verifyOperation(route: Described, components: Components): Operation {
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

function healthOperation(health: typeof liveness | typeof readiness, components: Components): Operation {
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

function describedAs({ path, summary, description }: Pick<Route, 'path' | 'summary' | 'description'>) {
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
function queryParameters(route: Pick<Route, 'request'>, components: Components): Parameter[] {
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

/** The parts of a schema that the document shows in another form. */
interface SchemaParts {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly object[];
  readonly items?: object;
  readonly properties?: Readonly<Record<string, object>>;
}

/**
 * The schemas and responses of the document that are shown once and referenced by name. The validators work with whole schemas; here,
 * every schema with a name becomes a reference. A reference has words and examples of its own where the field has.
 */
class Components {
  readonly schemas: Record<string, object> = {};
  readonly responses: Record<string, object> = {};
  readonly headers: Record<string, object> = {};

  /** The schema as the document shows it. */
  shown(schema: object): object {
    const component = componentOf(schema);
    if (component === null) return this.#whole(schema);
    const { title = '', ...own } = component as SchemaParts;
    const { description, examples } = schema as SchemaParts;
    if (!Object.hasOwn(this.schemas, title)) {
      // Taken before its parts are read: a schema can contain itself.
      this.schemas[title] = {};
      this.schemas[title] = this.#whole(own);
    }
    return {
      $ref: `#/components/schemas/${title}`,
      ...(description === undefined || description === own.description ? {} : { description }),
      ...(examples === undefined || examples === own.examples ? {} : { examples }),
    };
  }

  /** The schema under this name, unless it has a name of its own or is a list. */
  named(name: string, schema: object, description: string): object {
    if (componentOf(schema) !== null || 'items' in schema) return this.shown(schema);
    this.schemas[name] ??= { description, ...this.#whole(schema) };
    return { $ref: `#/components/schemas/${name}` };
  }

  #whole(schema: object): object {
    const { [EXPECTED]: _expected, ...shown } = shownFor(schema) as SchemaParts & { [EXPECTED]?: string };
    const { anyOf, items, properties } = shown;
    return {
      ...typeOf(shown),
      ...shown,
      ...(anyOf === undefined ? {} : { anyOf: anyOf.map((choice) => this.shown(choice)) }),
      ...(items === undefined ? {} : { items: this.shown(items) }),
      ...(properties === undefined
        ? {}
        : {
            properties: Object.fromEntries(
              Object.entries(properties).map(([name, inner]) => [name, this.shown(inner)]),
            ),
          }),
    };
  }

  /** The headers of a response. */
  headersOf(names: readonly AnswerHeader[]): Record<string, object> {
    return Object.fromEntries(
      names.map((header) => {
        const { name, description, example } = ANSWER_HEADERS[header];
        const type = typeof example === 'number' ? 'integer' : 'string';
        this.headers[name] ??= { description, example, schema: { type } };
        return [name, { $ref: `#/components/headers/${name}` }];
      }),
    );
  }

  /** The responses for these codes, by status. Codes that share a status are examples of one response. */
  errorResponses(codes: readonly ErrorCode[]): Record<string, object> {
    const responses: Record<string, object> = {};
    for (const { status } of codes.map((code) => ERRORS[code])) {
      const same = codes.filter((code) => ERRORS[code].status === status);
      const name = same.map(errorName).join('Or');
      this.responses[name] ??= this.errorResponse(same);
      responses[String(status)] = { $ref: `#/components/responses/${name}` };
    }
    return responses;
  }

  /** One response for codes of one status, with further headers. */
  errorResponse(codes: readonly ErrorCode[], more: readonly AnswerHeader[] = []): object {
    return {
      description: codes.map((code) => ERRORS[code].when).join(' '),
      headers: this.headersOf([...headersOfCodes(codes), ...more]),
      content: {
        'application/json': {
          schema: this.shown(ErrorObject),
          examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
        },
      },
    };
  }
}

/** The codes have one status. The answer to a refused method also names the methods that are accepted. */
function headersOfCodes(codes: readonly ErrorCode[]): AnswerHeader[] {
  const [status = 0] = codes.map((code) => ERRORS[code].status);
  const own = Object.keys(headersOfStatus(status)) as AnswerHeader[];
  return ['keystile-request-id', ...own, ...(codes.includes('METHOD_NOT_ALLOWED') ? (['allow'] as const) : [])];
}

/** What code generators need and validators do not: the type of choices, and the size of whole numbers. */
function typeOf({ type, enum: values, const: value }: SchemaParts): object {
  if (type === 'integer') return { format: 'int64' };
  return (values ?? [value]).every((each) => typeof each === 'string') ? { type: 'string' } : {};
}

function errorName(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const OF_VERDICT: readonly AnswerHeader[] = [
  'keystile-request-id',
  ...FORWARD_HEADERS,
  'ratelimit-policy',
  'ratelimit',
];
/** Beside those that every error of its status has. */
const OF_ERROR: readonly AnswerHeader[] = ['cache-control', 'keystile-code', 'keystile-retryable'];

/** With `deny=403`, a 403 has the headers of every refusal. */
const HEADERS = {
  200: OF_VERDICT,
  401: ['keystile-request-id', ...FORWARD_HEADERS, 'www-authenticate'],
  403: [...OF_VERDICT, 'retry-after'],
  429: [...OF_VERDICT, 'retry-after'],
} as const satisfies Readonly<Record<number, readonly AnswerHeader[]>>;

/** Every method is answered in the same way. The document names GET, which most gateways send. */
function forwardOperation(components: Components): Operation {
  const { response, example } = forwardAuth;
  const answer = components.named('KeysForwardAuthAnswer', response, 'The answer of `keys.forwardAuth`.');
  const responses: Record<string, object> = {
    ...components.errorResponses(['BAD_REQUEST']),
    '500': components.errorResponse(['INTERNAL_SERVER_ERROR'], OF_ERROR),
    '503': components.errorResponse(['UNAVAILABLE', 'OUTCOME_UNKNOWN'], OF_ERROR),
    '200': {
      description: 'The request may pass.',
      headers: components.headersOf(HEADERS[200]),
      content: { 'application/json': { schema: answer, example: example.response } },
    },
  };
  for (const code of ['EXPIRED', 'INSUFFICIENT_PERMISSIONS', 'RATE_LIMITED'] as const) {
    const status = VERDICT_STATUS[code];
    const codes = Object.entries(VERDICT_STATUS).flatMap(([each, its]) => (its === status ? [each] : []));
    responses[String(status)] = {
      description: `${codes.join(', ')}, or an error. With \`deny=403\`, every refusal but 401 is a 403.`,
      headers: components.headersOf(HEADERS[status]),
      content: {
        'application/json': {
          schema: { anyOf: [answer, components.shown(ErrorObject)] },
          example: { ...example.response, valid: false, code },
        },
      },
    };
  }
  return { ...describedAs(forwardAuth), security: [], parameters: queryParameters(forwardAuth, components), responses };
}

interface Rights {
  readonly rights: readonly string[];
  readonly isOneRightEnough?: true;
  readonly fieldRights?: readonly FieldRights[];
  readonly insteadRights?: readonly FieldRights[];
}

/** The rights that a root key needs for a call, in words. */
function neededRights({ rights, isOneRightEnough, fieldRights = [], insteadRights = [] }: Rights): string {
  const needed = listed(rights, isOneRightEnough === true ? 'or' : 'and');
  const more = [...fieldRights.map(forFields), ...insteadRights.map(instead)];
  return `The root key needs ${needed}${more.join('')}.`;
}

function forFields({ fields, rights, unless }: FieldRights): string {
  const except = unless === undefined ? '' : `, unless it has ${inCode(unless)}`;
  return `; with ${listed(fields, 'or')}, also ${listed(rights, 'and')}${except}`;
}

function instead({ fields, rights }: FieldRights): string {
  return `; with ${listed(fields, 'or')}, instead ${listed(rights, 'and')}`;
}

function listed(names: readonly string[], word: 'and' | 'or'): string {
  const last = inCode(names.at(-1) ?? '');
  return names.length < 2 ? last : `${names.slice(0, -1).map(inCode).join(', ')} ${word} ${last}`;
}

function inCode(text: string): string {
  return `\`${text}\``;
}

/** One way to make a call, in the form that viewers of OpenAPI documents show (`x-codeSamples`). */
interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

interface SampledCall {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly needsRootKey: boolean;
  /** Also answers GET. */
  readonly isRead: boolean;
  /** The example of the request. */
  readonly request: object;
}

/** The call in curl and in TypeScript. The tests run both. */
function samplesOf(call: SampledCall, url: string): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call, url) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

/** For a gateway there is no method in the SDK. */
function forwardSamples(path: string, request: object, url: string): CodeSample[] {
  const target = `${path}${queryOf(request)}`;
  const source = `const answer = await fetch('${url}${target}', {
  headers: { authorization: 'Bearer ${EXAMPLE.secret}' },
});
console.log(answer.status, answer.headers.get('keystile-key-id'));`;
  return [
    {
      lang: 'Shell',
      label: 'curl',
      source: lines([`curl -i '${url}${target}'`, `-H 'Authorization: Bearer ${EXAMPLE.secret}'`]),
    },
    { lang: 'TypeScript', label: 'TypeScript', source },
  ];
}

function curl({ path, method, needsRootKey, request }: SampledCall, url: string): string {
  const rootKey = needsRootKey ? [`-H "Authorization: Bearer $KEYSTILE_ROOT_KEY"`] : [];
  if (method === 'GET') return lines([`curl '${url}${path}${queryOf(request)}'`, ...rootKey]);
  const body = JSON.stringify(request, null, 2).replaceAll("'", String.raw`'\''`);
  return lines([`curl '${url}${path}'`, ...rootKey, `-H 'Content-Type: application/json'`, `-d '${body}'`]);
}

function lines(parts: readonly string[]): string {
  return parts.join(' \\\n  ');
}

function queryOf(request: object): string {
  const pairs = Object.entries(request as Record<string, unknown>).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}=${encodeURIComponent(String(each))}`),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const CLIENT = `import { Keystile } from '@keystile/sdk';

// Reads KEYSTILE_URL and KEYSTILE_ROOT_KEY.
const keystile = new Keystile();
`;

function typescript({ path, request, isRead }: SampledCall): string {
  const [group = '', name] = path.replace('/v1/', '').split('.');
  if (name === undefined) return `${CLIENT}console.log(await keystile.call('${path}', {}));`;
  if (name === 'verifyKey') {
    const { key, ...options } = request as { readonly key: string };
    const asked = Object.keys(options).length === 0 ? '' : `, ${literal(options)}`;
    return `${CLIENT}const verdict = await keystile.verify(${literal(key)}${asked});
if (!verdict.valid) console.log('refused:', verdict.code);`;
  }
  const call = `keystile.${group}.${sdkMethod(group, name)}(${literal(request)})`;
  return isSdkList(path, isRead)
    ? `${CLIENT}for await (const each of ${call}) console.log(each);`
    : `${CLIENT}console.log(await ${call});`;
}

/** A value as TypeScript writes it: names without quotes where they need none, texts in single quotes. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((each) => literal(each, inner))
    : Object.entries(value).map(
        ([name, each]) => `${/^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)}: ${literal(each, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return `${open}${close}`;
  const space = Array.isArray(value) ? '' : ' ';
  const short = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (short.length <= 60 && !short.includes('\n')) return short;
  return `${open}\n${parts.map((part) => `${inner}${part},`).join('\n')}\n${indent}${close}`;
}

/** The noun that a group's methods leave out: keys.createKey is `keys.create`. */
const NOUNS: Readonly<Record<string, string>> = {
  keys: 'Key',
  apis: 'Api',
  identities: 'Identity',
  plans: 'Plan',
  permissions: 'Permission',
  rootKeys: 'RootKey',
  portal: 'Portal',
  sessions: 'Session',
  events: 'Event',
  webhooks: 'Webhook',
};

/** The name of an endpoint in its group of the SDK. */
export function sdkMethod(group: string, name: string): string {
  const noun = NOUNS[group];
  if (noun === undefined) return name;
  const plural = noun.endsWith('y') && noun !== 'Key' && noun !== 'RootKey' ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  if (name === `list${plural}`) return 'list';
  return name.endsWith(noun) ? name.slice(0, -noun.length) : name;
}

/** Whether the method goes through all pages of a list. */
export function isSdkList(path: string, isRead: boolean): boolean {
  return isRead && /\.list(?:[A-Z]|$)/.test(path);
}
