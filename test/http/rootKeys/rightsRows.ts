import { OPERATIONS, type Operation, holdsRight, holdsRightSomewhere, rightTo } from '../../../src/core/rights.ts';
import { type FieldRights, HOLDER_RIGHTS } from '../../../src/http/shapes/schema/commonFields.ts';
import { READING_RIGHT } from '../../../src/http/shapes/webhookObject.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { type Endpoint, OPEN } from '../docs/endpoints.ts';
import { allRightsOn, realRequest, type Records } from '../errors/records.ts';

/** One request of the matrix: what it sends about some records, and what it needs. */
export interface Row {
  readonly name: string;
  readonly path: string;
  readonly needs: Needs;
  readonly status: number;
  request(records: Records): unknown;
}

interface Needs {
  /** As the route declares them. */
  readonly rights: readonly string[];
  readonly isOneEnough: boolean;
  readonly fields: readonly FieldRights[];
  /** Whose key it is tells the verdict: one that may not be seen is an unknown one. */
  readonly isVerdict: boolean;
}

/** What a root key is answered. `unknown`: the verdict about a key that there is not. */
export type Outcome = 'done' | 401 | 403 | 404 | 'unknown';

/** What an answer was: any status but that of a success, or what became of it. */
export type Seen = number | 'done' | 'unknown';

/** Only for a namespace that there is not. */
const NOT_NEEDED: readonly string[] = ['ratelimit.*.create_namespace'];

export const ROWS: readonly Row[] = [...ROUTES.flatMap(rowsOf), ...OPEN.map(verifying)];

/** The request without the fields that need rights of their own, and with each of them by itself. */
function rowsOf(route: Route): Row[] {
  const { path, fieldRights = [], insteadRights = [] } = route;
  const extra = fieldRights.flatMap((each) => each.fields.map((field) => [field, each] as const));
  // Fields that need a right on one record name that record.
  const isName = ({ rights }: FieldRights): boolean => rights.some((right) => right.includes('<'));
  const others = insteadRights.flatMap((each) => each.fields.map((field) => [field, each] as const));
  const ofWebhook = needsReadingOf(route) ? [{ fields: ['webhookId'], rights: [READING_RIGHT] }] : [];
  const row = (field: string | null, fields: readonly FieldRights[], rights = route.rights): Row => ({
    name: `${path.replace('/v1/', '')}${field === null ? '' : ` with ${field}`}`,
    path,
    status: route.status ?? 200,
    needs: {
      rights: [...rights, ...fields.filter(isName).flatMap((each) => each.rights)].filter(
        (right) => !NOT_NEEDED.includes(right) && !(right === READING_RIGHT && needsReadingOf(route)),
      ),
      isOneEnough: route.isOneRightEnough === true,
      fields: [...fields.filter((each) => !isName(each)), ...ofWebhook],
      isVerdict: false,
    },
    request(records) {
      // Who is asked about is named in one way.
      const names = [...extra.map(([name]) => name), ...(rights === route.rights ? [] : ['externalId'])];
      return withField(
        realRequest(route, records),
        names,
        field === null ? {} : { [field]: valueOf(path, field, records) },
      );
    },
  });
  return [
    ...(fieldRights === HOLDER_RIGHTS ? [] : [row(null, [])]),
    ...extra.map(([field, each]) => row(field, [each])),
    ...others.map(([field, each]) => row(field, [], each.rights)),
  ];
}

/** On which events the right is needed, the webhook decides: without it, the webhook itself can still be seen. */
function needsReadingOf({ rights, example }: Route): boolean {
  return rights.includes(READING_RIGHT) && 'webhookId' in example.request;
}

function verifying(open: Endpoint): Row {
  const needs = { rights: ['api.<apiId>.verify_key'], isOneEnough: false, fields: [], isVerdict: true };
  return {
    name: open.path.replace('/v1/', ''),
    path: open.path,
    status: 200,
    needs,
    request: (records) => realRequest(open, records),
  };
}

/** The fields stand in the request itself, or in the keys of a list. */
function withField(request: object, names: readonly string[], added: object): object {
  if (Array.isArray(request)) return request.map((item: object) => withField(item, names, added));
  if ('keys' in request && typeof request.keys === 'object')
    return { ...request, keys: withField(request.keys as object, names, added) };
  return { ...Object.fromEntries(Object.entries(request).filter(([name]) => !names.includes(name))), ...added };
}

function valueOf(path: string, field: string, records: Records): unknown {
  const { externalId, role, permission } = records;
  if (field === 'keyId' || field === 'identityId' || field === 'planId') return records[field];
  if (field === 'all') return true;
  if (field === 'externalId' || field === 'ownerId') return externalId;
  if (field === 'keys') return 'disable';
  if (field === 'url') return 'https://example.com/other';
  if (field === 'events') return ['key.deleted'];
  if (field === 'enabled') return true;
  if (field === 'apis') return [records.apiId];
  const name = field === 'roles' ? role : permission;
  return path === '/v1/keys.updateKey' || path.startsWith('/v1/plans.') ? [{ name }] : [name];
}

/** Kinds of root keys by their rights, for the records that are asked about and for others. */
export const KINDS: Readonly<Record<string, (mine: Records, other: Records) => readonly string[]>> = {
  'with every right': () => ['*'],
  'with all rights on these records': (mine) => allRightsOn(mine),
  'with all rights on other records': (_mine, other) => allRightsOn(other),
  'of every api': () => every('api', '*'),
  'of this api': ({ apiId }) => every('api', apiId),
  'of another api': (_mine, { apiId }) => every('api', apiId),
  'that makes keys in every api': () => keyMaking('*'),
  'that makes keys in this api': ({ apiId }) => keyMaking(apiId),
  'that makes keys in another api': (_mine, { apiId }) => keyMaking(apiId),
  'that makes keys in this api, and identities': ({ apiId }) => [...keyMaking(apiId), 'identity.*.create_identity'],
  'that makes keys in this api, and reads identities': ({ apiId }) => [...keyMaking(apiId), 'identity.*.read_identity'],
  'that makes keys in this api for one identity': ({ apiId, identityId }) => [
    ...keyMaking(apiId),
    `identity.${identityId}.update_identity`,
  ],
  'that makes keys in this api for another identity': ({ apiId }, { identityId }) => [
    ...keyMaking(apiId),
    `identity.${identityId}.update_identity`,
  ],
  'that makes keys in this api and gives them roles': ({ apiId }) => [...keyMaking(apiId), ...every('rbac', '*')],
  'that verifies': () => ['api.*.verify_key'],
  'that verifies in this api': ({ apiId }) => [`api.${apiId}.verify_key`],
  'that verifies in another api': (_mine, { apiId }) => [`api.${apiId}.verify_key`],
  'that reads': () =>
    OPERATIONS.filter((operation) => operation.includes('.read_')).map((operation) => rightTo(operation, '*')),
  'of identities': () => every('identity', '*'),
  'of roles and permissions': () => every('rbac', '*'),
  'of limits': () => every('ratelimit', '*'),
  'of root keys': () => every('root', '*'),
  'of webhooks': () => every('webhook', '*'),
  'of webhooks, that reads events': () => [...every('webhook', '*'), 'event.*.read_event'],
  'of webhooks, that reads events of this api': ({ apiId }) => [...every('webhook', '*'), `event.${apiId}.read_event`],
  'of webhooks, that reads events of another api': (_mine, { apiId }) => [
    ...every('webhook', '*'),
    `event.${apiId}.read_event`,
  ],
  'of nothing that there is': () => ['api.api_1.read_api'],
};

function every(resource: string, id: string): string[] {
  const operations = OPERATIONS.filter(
    (operation) => operation.startsWith(`${resource}.`) && (id === '*' || operation !== 'api.create_api'),
  );
  return operations.map((operation) => rightTo(operation, id));
}

function keyMaking(apiId: string): string[] {
  return [`api.${apiId}.create_key`, `api.${apiId}.update_key`];
}

/** The rights that are needed beside those of the fields, on these records. */
function needed({ needs }: Row, mine: Records): { operation: Operation; id: string }[] {
  return needs.rights.map((right) => {
    const [resource = '', place = '', action = ''] = right.split('.');
    const id = place === '*' ? place : mine[place.slice(1, -1) as keyof Records];
    return { operation: `${resource}.${action}` as Operation, id };
  });
}

/**
 * The one rule. A kind of right that is held nowhere is a 403; one that is held, and not on this thing, makes the thing look as
 * if it did not exist. Then come the fields.
 */
export function outcomeOf(row: Row, rights: readonly string[], mine: Records): Outcome {
  const all = needed(row, mine);
  const isHeld = ({ operation, id }: { operation: Operation; id: string }) => holdsRight(rights, operation, id);
  const isHeldSomewhere = ({ operation, id }: { operation: Operation; id: string }) =>
    id === '*' ? holdsRight(rights, operation, id) : holdsRightSomewhere(rights, operation);
  const isAllowed = row.needs.isOneEnough ? all.some(isHeld) : all.every(isHeld);
  const isKnown = row.needs.isOneEnough ? all.some(isHeldSomewhere) : all.every(isHeldSomewhere);
  if (!isKnown) return 403;
  // A list shows what may be seen, and needs no more.
  if (!isAllowed && row.name !== 'apis.listApis') return row.needs.isVerdict ? 'unknown' : 404;
  return row.needs.fields.every((each) => mayUse(each, rights, mine)) ? 'done' : 403;
}

function mayUse({ fields, rights: wanted, unless }: FieldRights, rights: readonly string[], mine: Records): boolean {
  const holds = (right: string): boolean => rights.includes('*') || rights.includes(right);
  if (unless !== undefined && holds(unless)) return true;
  if (wanted.every(holds)) return true;
  return fields.includes('ownerId') && holdsRight(rights, 'identity.update_identity', mine.identityId);
}
