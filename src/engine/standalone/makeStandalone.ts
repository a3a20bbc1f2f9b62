import { NamespaceMaking } from './createNamespace.ts';
import { OverrideAdmin } from './overrideAdmin.ts';
import type { AdminParts } from '../admin/change/adminContext.ts';
import { StandaloneLimits } from './standaloneLimits.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { Limiter } from './standaloneLimiter.ts';
import { Namespaces } from './namespaces.ts';
import { StrictWindows } from './strictWindows.ts';

export interface RatelimitsOptions {
  readonly localLimits: LocalLimits;
  readonly maxPerNamespace: number;
  /** Why nothing may be answered any more; null while it may. */
  readonly stoppedBecause: () => string | null;
}

/** Everything of standalone limits. */
export interface Ratelimits {
  readonly namespaces: Namespaces;
  readonly limits: StandaloneLimits;
  readonly overrides: OverrideAdmin;
}

export function makeRatelimits(admin: AdminParts, options: RatelimitsOptions): Ratelimits {
  const { localLimits, maxPerNamespace, stoppedBecause } = options;
  const { ledger, records } = admin.storage;
  const windows = new StrictWindows({ ledger, maxPerNamespace, isShared: admin.storage.localCounts.isShared });
  const limiter = new Limiter({ localLimits, ledger, windows, stoppedBecause });
  const namespaces = new Namespaces(records);
  const making = new NamespaceMaking(admin, namespaces);
  return {
    namespaces,
    limits: new StandaloneLimits({ admin, namespaces, making, limiter }),
    overrides: new OverrideAdmin(admin),
  };
}
