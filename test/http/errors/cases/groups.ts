import { DELETED, NEVER_THERE } from './absent.ts';
import type { Case } from './case.ts';
import { CURSORS } from './cursors.ts';
import { CREATE_KEY, UPDATE_KEY } from './keyFields.ts';
import { KEYS, PERMISSION_QUERIES, VERIFYING } from './keys.ts';
import { CREATE_KEYS } from './newKeys.ts';
import { ANALYTICS, APIS, IDENTITIES, IMPORTS, RATELIMITS, RBAC, ROOT_KEYS, WEBHOOKS } from './management.ts';
import { RESERVATIONS } from './reservations.ts';
import { ACCESS, BODIES, PARAMETERS, ROUTING } from './requests.ts';

/** Every request that is refused, group by group. The last two groups store thousands of rows, so they come last. */
export const GROUPS: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ['bodies', BODIES],
  ['routing', ROUTING],
  ['parameters', PARAMETERS],
  ['access', ACCESS],
  ['createKey', CREATE_KEY],
  ['createKeys', CREATE_KEYS],
  ['updateKey', UPDATE_KEY],
  ['keys', KEYS],
  ['verifying', VERIFYING],
  ['reservations', RESERVATIONS],
  ['permission queries', PERMISSION_QUERIES],
  ['apis', APIS],
  ['identities', IDENTITIES],
  ['standalone limits', RATELIMITS],
  ['imports', IMPORTS],
  ['root keys', ROOT_KEYS],
  ['cursors', CURSORS],
  ['webhooks', WEBHOOKS],
  ['what never was', NEVER_THERE],
  ['what was deleted', DELETED],
  ['permissions and roles', RBAC],
  ['analytics', ANALYTICS],
];
