import { PERMISSIONS, ROLES, ROOT_KEYS } from './access.ts';
import { APIS } from './apis.ts';
import { IDENTITIES } from './identities.ts';
import { KEYS } from './keys.ts';
import { NAMESPACES, OVERRIDES } from './overrides.ts';
import { PLANS } from './plans.ts';
import type { RecordTable } from './columns.ts';

/** All tables of records that are declared. */
export const RECORDS: readonly Pick<RecordTable, 'name' | 'columns'>[] = [
  APIS,
  PERMISSIONS,
  ROLES,
  PLANS,
  IDENTITIES,
  KEYS,
  ROOT_KEYS,
  NAMESPACES,
  OVERRIDES,
];
