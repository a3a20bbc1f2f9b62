import type { Config } from './config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from './core/ids.ts';
import { Engine } from './engine/engine.ts';
import type { System } from './engine/system.ts';
import { HttpMetrics } from './http/metrics.ts';
import { makeService, type Service } from './http/service.ts';
import type { Log } from './log.ts';
import type { DataFolder } from './storage/sqlite/folder.ts';
import type { LedgerObserver } from './storage/sqlite/ledger.ts';
import { SqliteStorage } from './storage/sqlite/storage.ts';
import type { Digester } from './system.ts';

export interface Surroundings {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly system: System;
  readonly digester: Digester;
  readonly log: Log;
  readonly monotonicMs: () => number;
  /** The disk or the database file has failed: the process should say so and go. */
  readonly onBroken: (error: Error) => void;
  /** For the benchmark: what a slower disk would add to every flush. */
  readonly addedFlushMs?: number;
}

/** The whole service, ready to be asked. */
export interface Composed {
  readonly service: Service;
  readonly storage: SqliteStorage;
  /** Saves what lives in memory and closes the database. */
  close(): Promise<void>;
}

/** The composition root: the one place where the parts are made and joined. */
export async function compose(surroundings: Surroundings): Promise<Composed> {
  const { config, folder, system, digester, log, monotonicMs } = surroundings;
  const metrics = new HttpMetrics();
  const broken: { stop: ((reason: string) => void) | null } = { stop: null };
  const storage = await SqliteStorage.open({
    folder,
    nowMs: system.nowMs,
    newWorkspaceId: () => makeId('ws', system.nowMs(), system.randomBytes(ID_RANDOM_BYTES)),
    maxWaiting: config.maxWaiting,
    idempotencyRetentionMs: config.idempotencyRetention,
    acceptLostCommits: config.acceptLostCommits,
    addedFlushMs: surroundings.addedFlushMs ?? 0,
    onBroken: (error) => {
      broken.stop?.('The database has failed; nothing more is answered from it.');
      surroundings.onBroken(error);
    },
    observe: observeLedger(metrics, log),
  });
  const engine = new Engine({
    storage,
    system,
    defaultTimezone: config.timezone,
    maxCachedKeys: config.maxCachedKeys,
    maxLocalOwners: config.maxLocalCounters,
  });
  broken.stop = (reason) => engine.verifier.stop(reason);
  const service = makeService({ engine, config, digester, metrics, log, monotonicMs });
  return {
    service,
    storage,
    close: async () => {
      try {
        await engine.close();
      } catch (error) {
        log.warn('local counts could not be saved', { reason: error instanceof Error ? error.message : String(error) });
      }
      await storage.close();
    },
  };
}

/** Trouble is logged when it begins and when it ends, not once for every request that met it. */
function observeLedger(metrics: HttpMetrics, log: Log): LedgerObserver {
  let trouble: string | null = null;
  return {
    committed(size, milliseconds) {
      metrics.committed(size, milliseconds);
      if (trouble !== null) log.info('commits are possible again', { after: trouble });
      trouble = null;
    },
    refused(reason) {
      if (reason !== trouble) log.warn('commits are not possible', { reason });
      trouble = reason;
    },
    foldFailed: (reason) => log.warn('the log could not be folded into the tables; it is kept', { reason }),
  };
}
