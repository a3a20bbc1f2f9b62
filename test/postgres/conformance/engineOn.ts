import { type Engine, type EngineOptions, makeEngine } from '../../../src/engine/engine.ts';
import { Turns } from '../../../src/engine/fairTurns.ts';
import type { System } from '../../../src/engine/platform.ts';
import type { Storage } from '../../../src/storage/port/storage.ts';
import { afterOthers, sha256Of, textReader } from '../../../src/bunPlatform.ts';

/** The engine on a storage, with secrets that are their own digests. */
export function engineOn(
  storage: Storage,
  { randomBytes, ...options }: Partial<EngineOptions> & Partial<Pick<System, 'randomBytes'>> = {},
): Engine {
  return makeEngine({
    storage,
    system: {
      nowMs: () => storage.ledger.nowMs(),
      randomBytes: randomBytes ?? ((length) => crypto.getRandomValues(new Uint8Array(length))),
      digestSecret: (secret) => secret,
      olderDigests: () => [],
      digestOfSha256: (sha256) => sha256,
      olderDigestsOfSha256: () => [],
      sha256: sha256Of,
      textReader,
    },
    turns: new Turns(() => 0, afterOthers),
    defaultTimezone: 'UTC',
    newIdentities: { mustExist: false, defaultPlan: null },
    maxCachedKeys: 100,
    maxLocalOwners: 100,
    maxLimitsPerNamespace: 100,
    maxTagLists: 100,
    portal: { url: 'http://keys.test', returnOrigins: [] },
    quotas: {
      keys: null,
      apis: null,
      verificationsPerSecond: null,
      managementCallsPerSecond: Infinity,
      managementBytesPerSecond: Infinity,
    },
    countsVerifications: true,
    eventRetentionMs: 30 * 86_400_000,
    statementRetentionMs: 761 * 86_400_000,
    auditRetentionMs: null,
    outgoing: { refusal: async () => null, send: async () => ({ failure: 'This engine sends nothing.' }) },
    secretBox: null,
    readStatus: () => Promise.reject(new Error('This engine runs in no process of its own.')),
    retention: { minute: 0, hour: 0, day: 0 },
    ...options,
  });
}
