import { ROUTES } from '../../../../src/http/routes/routeTable.ts';
import { ABSENT, realRequest, type Records, recordsNamedBy, spellings } from '../records.ts';
import type { Case } from './case.ts';

/** Requests that name what is not there, or not any more: made from the route table, one wrong name at a time. */

/** What is made when it is named for the first time. */
const MADE: Readonly<Record<string, readonly (keyof Records)[]>> = {
  '/v1/keys.createKey': ['externalId'],
  '/v1/keys.createKeys': ['externalId'],
  '/v1/keys.updateKey': ['externalId'],
  '/v1/migrations.createKeys': ['externalId'],
  '/v1/migrations.enqueueKeys': ['externalId', 'migrationId'],
  '/v1/ratelimits.limit': ['namespaceName', 'identifier'],
  '/v1/ratelimits.multiLimit': ['namespaceName', 'identifier'],
  '/v1/ratelimits.setOverride': ['namespaceName', 'identifier'],
};
/**
 * These cannot be deleted. Events and reservations are removed when they are old. A root key can be revoked twice. The results of an
 * import can be read after its api was deleted.
 */
const LASTING: readonly (keyof Records)[] = [
  'namespaceId',
  'namespaceName',
  'rootKeyId',
  'migrationId',
  'eventId',
  'reservationId',
];

/** The statement of an identity or a key can be read after it was deleted. */
const isReadAfterwards = (path: string, name: keyof Records): boolean =>
  path === '/v1/usage.getStatement' && name === 'identityId';

const NAMED = ROUTES.flatMap((route) =>
  spellings(route).flatMap((spelt) =>
    recordsNamedBy(spelt)
      .filter((name) => !MADE[route.path]?.includes(name))
      .map((name) => ({ route, spelt, name })),
  ),
);

export const NEVER_THERE: readonly Case[] = NAMED.map(({ spelt, name }) => [
  `${name} of ${spelt.path} ${JSON.stringify(spelt.example.request)}`,
  (setup) => ({ path: spelt.path, body: realRequest(spelt, { ...setup, [name]: ABSENT[name] }) }),
]);

export const DELETED: readonly Case[] = NAMED.filter(
  ({ spelt, name }) => !LASTING.includes(name) && !isReadAfterwards(spelt.path, name),
).map(({ spelt, name }) => [
  `${name} of ${spelt.path} ${JSON.stringify(spelt.example.request)}`,
  (setup) => ({ path: spelt.path, body: realRequest(spelt, { ...setup, [name]: setup.gone[name] }) }),
]);

/** Routes that can name something absent. */
export const NAMING_ROUTES = [...new Set(NAMED.map(({ route }) => route))];
export const NAMED_RECORDS: ReadonlySet<keyof Records> = new Set(NAMED.map(({ name }) => name));
