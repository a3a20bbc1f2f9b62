import { locationOf } from '../compose.ts';
import type { BackgroundGauges, Gauges, HealthGauges, ProcessGauges } from '../http/answer/metrics.ts';
import { reasonsNotReady } from '../http/routes/health.ts';
import type { Service } from '../http/service.ts';
import { VERSION } from '../version.ts';

/** Reading the metrics waits no longer than this for the database. */
const HEALTH_MAX_MS = 1_000;

/** The values that the engine does not know. */
export type OuterGauges = BackgroundGauges &
  Pick<Gauges, 'connections' | 'connectionsRefused' | 'certificateExpiresAtMs' | 'process'>;

/** All values that are read when somebody asks for the metrics. */
export async function readGauges(service: Service, outer: () => OuterGauges | Promise<OuterGauges>): Promise<Gauges> {
  const { config, engine } = service;
  const given = await outer();
  return {
    version: VERSION,
    location: locationOf(config),
    isReady: reasonsNotReady(service, 'memory').length === 0,
    isReadyForExact: reasonsNotReady(service, 'exact').length === 0,
    cacheHits: engine.memory.keyCache.hits,
    cacheMisses: engine.memory.keyCache.misses,
    cachedKeys: engine.memory.keyCache.size,
    cachedIdentities: engine.memory.keyCache.identityCount,
    unsavedLocalCounts: engine.memory.localLimits.unsavedSize,
    ledgerWaiting: engine.storage.ledger.waiting,
    lookupsWaiting: engine.memory.keyCache.lookupsWaiting,
    otherTags: engine.memory.openCounts.tagLists.others,
    ...given,
  };
}

/**
 * The health of the service, or null if the database does not answer in time. A reading that hangs is not started a second time: later
 * callers wait for it too.
 */
export function boundedHealth(
  read: () => Promise<HealthGauges>,
  maxMs = HEALTH_MAX_MS,
): () => Promise<HealthGauges | null> {
  let running: Promise<HealthGauges | null> | null = null;
  return async () => {
    running ??= read()
      .catch(() => null)
      .finally(() => (running = null));
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), maxMs);
    const health = await Promise.race([running, late.promise]);
    clearTimeout(timer);
    return health;
  };
}

export function processGauges(startedAtMs: number): ProcessGauges {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6, startedAtMs };
}
