import { SYSTEM } from '../../../src/engine/admin/change/requireRight.ts';
import { MAX_WEBHOOKS } from '../../../src/core/bounds.ts';
import { OPERATIONS, isRight, rightTo } from '../../../src/core/rights.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import type { TestService } from '../../support/service.ts';
import type { Node } from './wrongValues.ts';

/** One of everything that a request can name, by the names of the fields that name it. */
export interface Records {
  readonly apiId: string;
  readonly keyId: string;
  readonly key: string;
  readonly deletedKeyId: string;
  readonly identityId: string;
  readonly externalId: string;
  readonly planId: string;
  readonly permissionId: string;
  readonly permission: string;
  readonly roleId: string;
  readonly role: string;
  readonly namespaceId: string;
  readonly namespaceName: string;
  /** Has an override in the namespace. */
  readonly identifier: string;
  readonly rootKeyId: string;
  readonly migrationId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly reservationId: string;
  readonly sessionId: string;
}

/** As ids look, and of nothing that exists. */
export const ABSENT: Records = {
  apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
  keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
  key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J',
  deletedKeyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
  identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
  externalId: 'nobody-at-all',
  planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X',
  permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T',
  permission: 'nothing.at.all',
  roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux',
  role: 'no role at all',
  namespaceId: 'ns_1Jm8Ztb7pUu9KnN3xWa6Vy',
  namespaceName: 'no.namespace.at.all',
  identifier: 'no identifier at all',
  rootKeyId: 'rk_1Jm8Ztc8qVv2LoP4yXb7Wz',
  migrationId: 'no-migration-at-all',
  webhookId: 'wh_1Jm8ZtYn7rWw2LpQ5yXz4Z',
  eventId: 'evt_1Jm8ZtYm6qVv9KoP4xWz3Y',
  reservationId: 'rsv_1Jm8ZtYp8sXx3MqR6zYa5B',
  sessionId: 'ses_1Jm8ZtYq9tYy4NrS7aZb6C',
};

let made = 0;

/** Makes one of everything, apart from all others; their names end so. What does not need another is made together, in one commit. */
export async function makeRecords(service: TestService, suffix = `${++made}`): Promise<Records> {
  const [externalId, permission, role] = [`user-${suffix}`, `documents.read-${suffix}`, `editor-${suffix}`];
  const [namespaceName, identifier, migrationId] = [`email-${suffix}`, `org-${suffix}`, `migration-${suffix}`];
  const numbers = { limit: 5, duration: 60_000 };
  const [apiId, { planId }, { permissionId }, { roleId }, { rootKey }] = await Promise.all([
    service.createApi(),
    service.ok('/v1/plans.createPlan', { name: `plan-${suffix}` }),
    service.ok('/v1/permissions.createPermission', { name: permission }),
    service.ok('/v1/permissions.createRole', { name: role }),
    service.engine.rootKeys.create({ name: suffix, rights: ['root.*.create_root_key'], expiresAtMs: null }),
    service.ok('/v1/ratelimits.limit', { namespace: namespaceName, identifier, ...numbers }),
  ]);
  const keys = [{ plaintext: `imported-from-elsewhere-${suffix}` }];
  const [{ keyId, key }, { keyId: deletedKeyId, key: deletedKey }, { namespaceId }] = await Promise.all([
    service.createKey({ apiId, remaining: 5, ratelimits: [{ name: 'a', ...numbers }], externalId }),
    service.createKey({ apiId }),
    service.ok('/v1/ratelimits.setOverride', { namespaceName, identifier, ...numbers }),
    service.call('/v1/migrations.enqueueKeys', { migrationId, apiId, keys }),
  ]);
  const { reservationId } = await service.ok('/v1/reservations.create', { key: deletedKey, cost: 4000 });
  await service.ok('/v1/keys.deleteKey', { keyId: deletedKeyId });
  const credits = { externalId, remaining: 1_000_000 };
  const { id: identityId } = await service.ok('/v1/identities.updateIdentity', credits);
  const webhookId = await makeWebhook(service, suffix);
  const { eventId } = await service.ok('/v1/webhooks.sendTest', { webhookId });
  const { id: sessionId } = await service.engine.sessions.admin.signIn(rootKey, SYSTEM, {
    browser: null,
    by: 'root key',
    formerSecret: null,
  });
  const limited = {
    sessionId,
    namespaceId,
    namespaceName,
    identifier,
    rootKeyId: rootKey.id,
    migrationId,
    webhookId,
    eventId,
  };
  const granted = { planId, permissionId, permission, roleId, role };
  return { apiId, keyId, key, deletedKeyId, reservationId, identityId, externalId, ...granted, ...limited };
}

/** By service: those that were made, the oldest first. */
const webhooks = new WeakMap<TestService, string[]>();
/** Fewer than there may be. */
const MAX_LIVE_WEBHOOKS = MAX_WEBHOOKS / 2;

/** The tests make more than there may be at one time. They look at their first two, and at the last ones. */
async function makeWebhook(service: TestService, suffix: string): Promise<string> {
  const known = webhooks.get(service) ?? [];
  webhooks.set(service, known);
  if (known.length >= MAX_LIVE_WEBHOOKS) {
    await service.call('/v1/webhooks.deleteWebhook', { webhookId: known.splice(2, 1)[0] });
  }
  const { webhookId } = await service.ok('/v1/webhooks.createWebhook', { url: `https://example.com/${suffix}` });
  known.push(webhookId);
  return webhookId;
}

/** New ones for a request that names any. */
export const recordsFor = (service: TestService, route: Shown): Promise<Records> =>
  recordsNamedBy(route).length === 0 ? Promise.resolve(ABSENT) : makeRecords(service);

/** Deletes everything that can be deleted of what was made. */
export async function deleteRecords(service: TestService, records: Records): Promise<void> {
  const { apiId, identityId, planId, permissionId, roleId, namespaceName, identifier, webhookId, sessionId } = records;
  await service.ok('/v1/sessions.endSession', { sessionId });
  await service.ok('/v1/webhooks.deleteWebhook', { webhookId });
  await service.ok('/v1/apis.deleteApi', { apiId });
  await service.ok('/v1/identities.deleteIdentity', { identityId });
  await service.ok('/v1/plans.deletePlan', { planId });
  await service.ok('/v1/permissions.deletePermission', { permissionId });
  await service.ok('/v1/permissions.deleteRole', { roleId });
  await service.ok('/v1/ratelimits.deleteOverride', { namespaceName, identifier });
}

/** Fields of a request that name something, by the thing that they name; in lists of references by their path. */
const NAMES: Readonly<Record<string, keyof Records>> = {
  apiId: 'apiId',
  keyId: 'keyId',
  key: 'key',
  identityId: 'identityId',
  externalId: 'externalId',
  ownerId: 'externalId',
  planId: 'planId',
  permissionId: 'permissionId',
  'permissions.id': 'permissionId',
  'permissions.name': 'permission',
  'permissions.slug': 'permission',
  roleId: 'roleId',
  'roles.id': 'roleId',
  'roles.name': 'role',
  namespaceId: 'namespaceId',
  namespaceName: 'namespaceName',
  namespace: 'namespaceName',
  identifier: 'identifier',
  rootKeyId: 'rootKeyId',
  migrationId: 'migrationId',
  webhookId: 'webhookId',
  eventId: 'eventId',
  reservationId: 'reservationId',
  sessionId: 'sessionId',
};

/** Fields of what a route makes: they must not name what exists already. */
const NEW = ['name', 'slug', 'externalId', 'value', 'plaintext'];

type Shown = Pick<Route, 'path' | 'example'>;

/** The example of a route with records that exist, or other ones, in the place of those that it names. */
// Requests are objects and lists of any shape.
// oxlint-disable-next-line typescript/no-explicit-any
export function realRequest({ path, example }: Shown, records: Records): any {
  const [, method = ''] = path.split('.');
  const makes = method.startsWith('create') || path.startsWith('/v1/migrations.');
  const suffix = `${++made}`;
  return mapTexts(example.request, '', (value, name) => {
    const field = name.split('.').slice(-2).join('.');
    const last = name.split('.').at(-1) ?? '';
    if (makes && NEW.includes(last)) return last === 'value' ? Bun.SHA256.hash(suffix, 'base64') : `${value}-${suffix}`;
    if (method === 'restoreKey' && last === 'keyId') return records.deletedKeyId;
    const record = NAMES[field] ?? NAMES[last];
    return record === undefined ? value : records[record];
  });
}

/** Fields that name the same thing in other ways. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  identityId: ['externalId'],
  externalId: ['identityId'],
  namespaceName: ['namespaceId'],
  namespaceId: ['namespaceName'],
  id: ['name', 'slug'],
  name: ['id', 'slug'],
};

/** The example of a route, and copies of it that name the same records in the other ways that its schema knows. */
export function spellings({ path, example, request }: Shown & Pick<Route, 'request'>): Shown[] {
  const requests = [example.request, ...respelt(example.request, request)];
  return requests.map((each) => ({ path, example: { ...example, request: each } }));
}

function respelt(value: object, schema: Node): object[] {
  const found: object[] = [];
  for (const [name, inner] of Object.entries(value)) {
    const { [name]: _old, ...rest } = value as Record<string, unknown>;
    const others = (OTHER_NAMES[name] ?? []).filter((other) => schema.properties?.[other] !== undefined);
    found.push(...others.map((other) => ({ ...rest, [other]: inner })));
    const item: unknown = Array.isArray(inner) ? inner[0] : undefined;
    const items = schema.properties?.[name]?.items;
    if (typeof item !== 'object' || item === null || items === undefined) continue;
    if (name === 'permissions' || name === 'roles') {
      for (const each of respelt(item, items)) found.push({ ...value, [name]: [each] });
    }
  }
  return found;
}

/** The records that the request of a route names. */
export function recordsNamedBy(route: Shown): (keyof Records)[] {
  const marked = Object.fromEntries(Object.keys(ABSENT).map((name) => [name, `<${name}>`])) as unknown as Records;
  const text = JSON.stringify(realRequest(route, marked));
  return (Object.keys(ABSENT) as (keyof Records)[]).filter((name) => text.includes(`<${name}>`));
}

/** The same value with other texts, each by the path of members that leads to it. */
function mapTexts(value: unknown, name: string, toOther: (value: string, name: string) => string): unknown {
  if (typeof value === 'string') return toOther(value, name);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, name, toOther));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([member, inner]) => [member, mapTexts(inner, `${name}.${member}`, toOther)]));
}

/** An answer without the names of these records and of the request: what is the same for all records is then the same text. */
export function withoutIds(text: string, records: Records): string {
  const anonymous = text.replaceAll(/"requestId":"[^"]+"/g, '"requestId":"ID"');
  return Object.values(records).reduce<string>((shown, id) => shown.replaceAll(id as string, 'ID'), anonymous);
}

/** What the fields of the example need, beside the rights of the route. */
export function rightsOfFields({ example, fieldRights = [] }: Route): string[] {
  const text = JSON.stringify(example.request);
  const isNamed = (field: string): boolean => text.includes(`"${field}":`);
  return fieldRights.filter(({ fields }) => fields.some(isNamed)).flatMap(({ rights }) => rights);
}

/** A right as the documentation shows it, on these records. */
export function rightOn(right: string, records: Records): string {
  return right.replaceAll(/<(\w+)>/g, (_, name: keyof Records) => records[name]);
}

/** Every right there is, on these records alone where a right can be on one thing, and on all where it cannot. */
export function allRightsOn({ apiId, identityId, planId, namespaceId }: Records): string[] {
  const owners: Readonly<Record<string, string>> = {
    api: apiId,
    identity: identityId,
    plan: planId,
    ratelimit: namespaceId,
    event: apiId,
  };
  const on = OPERATIONS.map((operation) => rightTo(operation, owners[operation.split('.')[0] ?? ''] ?? '*'));
  // What is about no single thing can only be held for all.
  return on.filter(isRight);
}
