import type { Storage } from '../../../storage/port/storage.ts';
import type { Refills } from '../../refill/refillPlans.ts';
import type { System } from '../../system.ts';
import type { Changes } from './applyChange.ts';
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
