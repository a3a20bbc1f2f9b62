import type { Storage } from '../../storage/port.ts';
import type { Refills } from '../refills.ts';
import type { System } from '../system.ts';
import type { Changes } from './changes.ts';
import type { Quotas } from './quotas.ts';

/** What management works with. */
export interface AdminParts {
  readonly storage: Storage;
  readonly system: System;
  readonly changes: Changes;
  readonly refills: Refills;
  readonly quotas: Quotas;
  /** The zone of refills that name none. */
  readonly defaultTimezone: string;
}
