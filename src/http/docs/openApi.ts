import { VERSION } from '../../version.ts';
import { liveness, readiness } from '../routes/health.ts';
import { forwardAuth } from '../routes/keys.forwardAuth.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import { verifyKeys } from '../routes/keys.verifyKeys.ts';
import { ROUTES } from '../routes/routeTable.ts';
import { Components } from './components.ts';
import { forwardOperation } from './forwardOperation.ts';
import { healthOperation, managementOperations, type Operation, verifyOperation } from './operations.ts';

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
\`?pretty\` indents an answer. Every failure is an \`Error\` with a code, a message that says what to do, and the id of the request.`;

/** What the groups of endpoints are for. */
const TAGS: Readonly<Record<string, string>> = {
  keys: 'Verify, create, read, change, rotate and delete keys, and give them roles and permissions.',
  apis: 'Apis: groups of keys that belong to one of your services, with the defaults for their new keys.',
  identities: 'Identities: your users or organisations, with limits and credits that all their keys share.',
  permissions: 'Permissions, which verifications ask for, and roles, which are named sets of them.',
  ratelimits: 'Standalone limits: limit anything by an identifier of your own, without a key.',
  analytics: 'How often keys were verified, with which verdict, by key, owner, tag and time.',
  migrations: 'Import keys that were created elsewhere. Their owners keep using them.',
  rootKeys: 'Root keys: the secrets that management calls need, each with its rights.',
  audit: 'The audit log: who changed what, when and from where.',
  health: 'Whether the process runs, and whether it can answer. For load balancers and monitors.',
};

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

export function openApi(publicUrl: string | null): OpenApiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of ROUTES) paths[route.path] = managementOperations(route, components);
  for (const open of [verifyKey, verifyKeys]) paths[open.path] = { post: verifyOperation(open, components) };
  paths[forwardAuth.path] = { get: forwardOperation(components) };
  for (const health of [liveness, readiness]) paths[health.path] = { get: healthOperation(health, components) };
  const { schemas, responses, headers } = components;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Keystile',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [publicUrl === null ? DEFAULT_SERVER : { url: publicUrl, description: 'This installation.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { rootKey: ROOT_KEY_SCHEME },
      schemas: sorted(schemas),
      responses: sorted(responses),
      headers: sorted(headers),
    },
  };
}

function sorted<T>(named: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)));
}
