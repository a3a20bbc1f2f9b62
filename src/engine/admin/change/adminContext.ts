import type { Storage } from '../../../storage/port/storage.ts';
import type { RefillSchedules } from '../../refillSchedules.ts';
import type { System } from '../../platform.ts';
import type { SettlesCredits } from '../../planOf.ts';
import type { Turns } from '../../fairTurns.ts';
import type { ApplyChange, EventMaker } from './applyChange.ts';
import type { Quotas } from './quotas.ts';

/** What the configuration says about identities that do not exist yet. */
interface NewIdentityRules {
  /** No key makes one: it is made by identities.createIdentity. */
  readonly mustExist: boolean;
  /** The plan that a new one gets, by name or id; null = none. */
  readonly defaultPlan: string | null;
}

/** What the classes of management work with. */
export interface AdminContext {
  readonly storage: Storage;
  readonly system: System;
  /** Work on many records gives way to others, in the name of the actor. */
  readonly turns: Turns;
  readonly changes: ApplyChange;
  readonly events: EventMaker;
  readonly refills: RefillSchedules;
  readonly quotas: Quotas;
  readonly dueCredits: SettlesCredits;
  /** The time zone of a refill that names none. */
  readonly defaultTimezone: string;
  readonly newIdentities: NewIdentityRules;
}
