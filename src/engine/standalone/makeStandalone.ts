import { CreateNamespace } from './createNamespace.ts';
import { OverrideAdmin } from './overrideAdmin.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { StandaloneLimits } from './standaloneLimits.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { LimitDecider } from './limitDecider.ts';
import { Namespaces } from './namespaces.ts';
import { StrictWindows } from './strictWindows.ts';

export interface StandaloneOptions {
  readonly localLimits: LocalLimits;
  readonly maxPerNamespace: number;
  /** Why the service has stopped answering; null while it answers. */
  readonly stoppedBecause: () => string | null;
}

/** All parts of standalone limits. */
export interface Standalone {
  readonly namespaces: Namespaces;
  readonly limits: StandaloneLimits;
  readonly overrides: OverrideAdmin;
}

export function makeStandalone(admin: AdminContext, options: StandaloneOptions): Standalone {
  const { localLimits, maxPerNamespace, stoppedBecause } = options;
  const { ledger, records } = admin.storage;
  const windows = new StrictWindows({ ledger, maxPerNamespace, isShared: admin.storage.localCounts.isShared });
  const decider = new LimitDecider({ localLimits, ledger, windows, stoppedBecause });
  const namespaces = new Namespaces(records);
  const making = new CreateNamespace(admin, namespaces);
  return {
    namespaces,
    limits: new StandaloneLimits({ admin, namespaces, createNamespace: making, decider }),
    overrides: new OverrideAdmin(admin),
  };
}
