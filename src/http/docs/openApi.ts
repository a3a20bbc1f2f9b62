import { VERSION } from '../../version.ts';
import { liveness, readiness } from '../routes/health.ts';
import { forwardAuth } from '../routes/keys.forwardAuth.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import { verifyKeys } from '../routes/keys.verifyKeys.ts';
import { createReservation } from '../routes/reservations.create.ts';
import { ROUTES } from '../routes/routeTable.ts';
import { Components } from './components.ts';
import { forwardOperation } from './forwardOperation.ts';
import { healthOperation, managementOperations, type Operation, verifyOperation } from './operations.ts';
import { forwardSamples, type SampledCall, samplesOf } from './samples.ts';

/** The OpenAPI 3.1 document of all routes, built from the schemas that validate requests. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

const DESCRIPTION = `API keys with exact credits, scheduled refill and rate limits.

JSON in and out. Management calls need a root key as \`Authorization: Bearer root_...\`. Verifying needs only the key, unless \
KEYSTILE_VERIFY_AUTH is \`required\`. Every GET endpoint also answers POST with the same fields as JSON. An unknown field is a 400 that names \
the nearest known one. Times are unix milliseconds (UTC), and durations are milliseconds. Fields that are not set are absent from answers. \
\`?pretty\` indents an answer. Every failure is an \`Error\` with a code, a message that says what to do, and the id of the request.

The [guides](/docs/guides) explain how the calls work together. The page [Errors](/docs/errors) has all error codes.`;

/** What the groups of endpoints are for, in the order in which they are shown, and the guide that explains each. */
const TAGS: Readonly<Record<string, readonly [words: string, guide: string]>> = {
  keys: ['Verify, create, read, change, rotate and delete keys, and give them roles and permissions.', 'keys'],
  apis: ['Apis: groups of keys that belong to one of your services, with the defaults for their new keys.', 'apis'],
  identities: [
    'Identities: your users or organisations, with limits and credits that all their keys share.',
    'identities',
  ],
  plans: ['Plans: the credits, limits and permissions that customers buy. Identities refer to them.', 'plans'],
  credits: ['Credits: give them for a payment, once, and correct them.', 'credits'],
  reservations: [
    'Reservations: hold credits for a call whose cost is known only afterwards, then charge what it has cost.',
    'reservations',
  ],
  permissions: ['Permissions, which verifications ask for, and roles, which are named sets of them.', 'permissions'],
  ratelimits: ['Standalone limits: limit anything by an identifier of your own, without a key.', 'standalone-limits'],
  analytics: ['How often keys were verified, with which verdict, by key, owner, tag and time.', 'analytics'],
  usage: ['Statements: what happened to credits, by day and by refill period, exact enough for a bill.', 'usage'],
  migrations: ['Import keys that were created elsewhere. Their owners keep using them.', 'imports'],
  rootKeys: ['Root keys: the secrets that management calls need, each with its rights.', 'root-keys'],
  portal: ["Portal: links to the customers' page, where a customer sees its own keys.", 'portal'],
  sessions: ['Sessions: the browsers that are signed in to the dashboard.', 'dashboard'],
  audit: ['The audit log: who changed what, when and from where.', 'audit'],
  events: ['Events: what has happened, in order, to be read by a cursor.', 'webhooks'],
  webhooks: ['Webhooks: events are sent to a URL of yours, signed, and again until it takes them.', 'webhooks'],
  service: [
    'The service itself: its nodes, how fast it answers, what is wrong and what to do, and its settings.',
    'operations',
  ],
  health: ['Whether the process runs, and whether it can answer. For load balancers and monitors.', 'operations'],
};

/** Shown before the others of their group, which keep the order of the route table. */
const FIRST = ['keys.verifyKey', 'keys.verifyKeys', 'keys.forwardAuth', 'keys.createKey', 'reservations.create'];

const ROOT_KEY_SCHEME = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A root key, which begins with `root_`. It needs the rights in `x-rights` of the operation. The first start of the service makes the first root key; `rootKeys.createRootKey` creates more.',
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
    tags: Object.entries(TAGS).map(([name, [words, guide]]) => ({
      name,
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
