import { AppError } from '../core/errors.ts';
import { AnalyticsAdmin } from './admin/analytics/analyticsAdmin.ts';
import { ApiAdmin, DeleteAllKeys } from './admin/apis.ts';
import { AuditLog } from './admin/audit.ts';
import type { AdminContext } from './admin/change/adminContext.ts';
import { ApplyChange, SendChange } from './admin/change/applyChange.ts';
import { EventMaker } from './admin/change/eventMaker.ts';
import { type QuotaLimits, Quotas } from './admin/change/quotas.ts';
import { CreditAdmin } from './admin/credits.ts';
import { EventLog } from './admin/events.ts';
import { DeleteIdentity, IdentityAdmin } from './admin/identities.ts';
import { ImportAdmin, ImportQueue } from './admin/imports.ts';
import { DeleteKey } from './admin/keys/deleteKey.ts';
import { KeyAdmin } from './admin/keys/keyAdmin.ts';
import { KeyGrants } from './admin/keys/keyGrants.ts';
import { NewIdentities } from './admin/keys/newIdentities.ts';
import { RotateKey } from './admin/keys/rotateKey.ts';
import type { Outgoing, SecretBox } from './admin/webhookPorts.ts';
import { AssignPlan } from './admin/plans/assignPlan.ts';
import { PlanAdmin } from './admin/plans/planAdmin.ts';
import { PlanMoves } from './admin/plans/planMoves.ts';
import { type PortalPlaces, PortalSessions } from './admin/portalSessions.ts';
import { PermissionAdmin } from './admin/rbac/permissionAdmin.ts';
import { ReservationAdmin } from './admin/reservations.ts';
import { RootKeyAdmin, RootKeyAuthenticator } from './admin/rootKeys.ts';
import { makeSessions } from './admin/sessions.ts';
import { UsageAdmin } from './admin/statements.ts';
import { type ServiceStatus, StatusAdmin } from './admin/status.ts';
import { WebhookAdmin, WebhookDeliveries } from './admin/webhooks.ts';
import { DeliverEvents } from './admin/webhookDelivery.ts';
import { ExpiringKeys, TellCredits, TellLimits, TellRefills } from './alerts/alerts.ts';
import { Notices } from './alerts/notices.ts';
import { OpenCounts } from './analytics/openCounts.ts';
import { TagLists } from './analytics/tagLists.ts';
import { CountWriting, type Retention, SLICE } from './analytics/writeCounts.ts';
import { KeyCache } from './cache/keyCache.ts';
import { DueSweep } from './dueSweep.ts';
import { LocalLimits } from './local/localLimits.ts';
import { ManagementQuota, VerificationQuota } from './perSecondQuotas.ts';
import { RefillSchedules } from './refillSchedules.ts';
import { makeRatelimits } from './ratelimits/ratelimits.ts';
import type { System } from './platform.ts';
import type { Turns } from './fairTurns.ts';
import { Verifier } from './verify/verifier.ts';
import type { RecordChange } from '../storage/port/freshness.ts';
import { type Storage, StorageOutcomeUnknown, StorageUnavailable } from '../storage/port/storage.ts';

export interface EngineOptions {
  readonly storage: Storage;
  readonly system: System;
  /** In which requests are answered, and work on large ones is done. */
  readonly turns: Turns;
  /** The time zone of a refill that names none. */
  readonly defaultTimezone: string;
  readonly newIdentities: AdminContext['newIdentities'];
  readonly maxCachedKeys: number;
  readonly maxLocalOwners: number;
  /** Strict counters of standalone limits in one namespace. */
  readonly maxLimitsPerNamespace: number;
  readonly quotas: QuotaLimits;
  /** Counts verifications for analytics. */
  readonly countsVerifications: boolean;
  /** How long the counts are kept. */
  readonly retention: Retention;
  /** Distinct tag lists of an api that are counted in one day. */
  readonly maxTagLists: number;
  /** How long events are kept. */
  readonly eventRetentionMs: number;
  /** How long statements are kept. */
  readonly statementRetentionMs: number;
  /** null = the audit log is kept for ever. */
  readonly auditRetentionMs: number | null;
  /** Where the customers' page is, and where it may lead back to. */
  readonly portal: PortalPlaces;
  /** Sends events to webhooks. */
  readonly outgoing: Outgoing;
  /** Encrypts the signing secrets of webhooks; null = there is no key for that. */
  readonly secretBox: SecretBox | null;
  /** How the service is doing, as the process knows it. */
  readonly readStatus: () => Promise<ServiceStatus>;
}

/** What an engine remembers of the database, and counts before it is written. */
function makeMemory({ storage, system, ...options }: EngineOptions) {
  const nowMs = (): number => storage.ledger.nowMs();
  const keyCache = new KeyCache(storage.records, options.maxCachedKeys, system.textReader);
  return {
    keyCache,
    localLimits: new LocalLimits(storage.localCounts, {
      nowMs,
      maxOwners: options.maxLocalOwners,
      maxPerGroup: options.maxLimitsPerNamespace,
    }),
    openCounts: new OpenCounts(keyCache.counts, nowMs, new TagLists(options.maxTagLists)),
    rootKeyAuthenticator: new RootKeyAuthenticator(storage.records, storage.freshness),
    refills: new RefillSchedules(),
    notices: new Notices(),
  };
}

/** The nouns of management, by what they do. */
function makeAdmins(context: AdminContext, moves: PlanMoves, options: EngineOptions) {
  const deleteAllKeys = new DeleteAllKeys(context);
  const plans = new PlanAdmin(context);
  const importQueue = new ImportQueue(context);
  const webhookContext = { ...context, outgoing: options.outgoing, secretBox: options.secretBox };
  const webhooks = new WebhookAdmin(webhookContext);
  return {
    apis: new ApiAdmin(context, deleteAllKeys),
    deleteAllKeys,
    keys: new KeyAdmin(context),
    deleteKey: new DeleteKey(context),
    expiringKeys: new ExpiringKeys(context),
    rotateKey: new RotateKey(context),
    keyGrants: new KeyGrants(context),
    permissions: new PermissionAdmin(context),
    identities: new IdentityAdmin(context),
    newIdentities: new NewIdentities(context),
    deleteIdentity: new DeleteIdentity(context),
    plans,
    assignPlan: new AssignPlan(context, plans, moves),
    credits: new CreditAdmin(context),
    rootKeys: new RootKeyAdmin(context),
    sessions: makeSessions(context),
    portal: new PortalSessions(context, options.portal),
    importQueue,
    imports: new ImportAdmin(context, importQueue),
    auditLog: new AuditLog(context.storage.records),
    eventLog: new EventLog(context.storage.events),
    usage: new UsageAdmin(context),
    status: new StatusAdmin(options.readStatus),
    webhooks,
    webhookDeliveries: new WebhookDeliveries(webhookContext, webhooks),
    deliverEvents: new DeliverEvents(webhookContext),
  };
}

/** The service without a wire format. HTTP, the command line and the tests call it. */
export interface Engine extends Readonly<ReturnType<typeof makeEngine>> {}

export function makeEngine(options: EngineOptions) {
  const { storage, system, turns, defaultTimezone, newIdentities, quotas, retention } = options;
  const { refills, notices, ...memory } = makeMemory(options);
  const analytics = options.countsVerifications ? memory.openCounts : null;
  const events = new EventMaker(system);
  const sender = new SendChange({
    ledger: storage.ledger,
    events,
    sha256: system.sha256,
    forget: (change) => forget(change),
    learn: (mark, nowMs) => refills.learn(mark, nowMs),
  });
  const moves = new PlanMoves({ storage, refills, sender });
  const sweep = new DueSweep({ storage, refills, events, moves, analytics });
  const settle = async (owner: string): Promise<void> => void (await sweep.settle(owner));
  const { keyCache: keys, localLimits, openCounts } = memory;
  const { ledger, freshness } = storage;
  const verifier = new Verifier({ keys, localLimits, ledger, freshness, refills, settle, analytics, notices });
  const changes = new ApplyChange(sender, settle);
  const shared = { events, storage, system, turns, refills, defaultTimezone, newIdentities };
  const context: AdminContext = { ...shared, changes, settle, quotas: new Quotas(storage, quotas) };
  const admins = makeAdmins(context, moves, options);
  const ratelimits = makeRatelimits(context, {
    localLimits,
    maxPerNamespace: options.maxLimitsPerNamespace,
    stoppedBecause: () => verifier.stoppedBecause,
  });
  const { records } = storage;
  const countWriting = new CountWriting({
    openCounts,
    analytics: storage.analytics,
    records,
    sliceSize: SLICE,
    retention,
  });
  const forget = (change: RecordChange): void => forgetIn({ ...memory, ...admins, ratelimits }, change);
  storage.freshness.onChange(forget);
  return {
    storage,
    system,
    turns,
    ...memory,
    events,
    verifier,
    ...admins,
    ratelimits,
    countWriting,
    sweep,
    /** null = verifications are not bounded. */
    verificationQuota:
      quotas.verificationsPerSecond === null ? null : new VerificationQuota(quotas.verificationsPerSecond),
    managementQuota: new ManagementQuota(quotas.managementCallsPerSecond, quotas.managementBytesPerSecond),
    analytics: new AnalyticsAdmin(context, countWriting, retention),
    reservations: new ReservationAdmin(context, analytics),
    tellCredits: new TellCredits(context, notices, settle),
    tellLimits: new TellLimits(context, notices),
    tellRefills: new TellRefills(context),
    eventRetentionMs: options.eventRetentionMs,
    statementRetentionMs: options.statementRetentionMs,
    auditRetentionMs: options.auditRetentionMs,
    /** Saves what is only in memory, before the process ends. */
    async close(): Promise<void> {
      await admins.deliverEvents.close();
      try {
        if (localLimits.unsavedSize > 0) await localLimits.sync();
      } finally {
        await countWriting.flush();
      }
    },
  };
}

type Caches = Pick<Engine, 'keyCache' | 'openCounts' | 'ratelimits' | 'rootKeyAuthenticator' | 'sessions'>;

/** Drops what this node has cached of changed records. */
function forgetIn(
  { keyCache, openCounts, ratelimits: { namespaces }, rootKeyAuthenticator, sessions }: Caches,
  { keys, apis, identities, plans, namespaces: changedNamespaces, rbac, rootKeys }: RecordChange,
): void {
  if (keys === null) keyCache.clear();
  else for (const digest of keys) keyCache.drop(digest);
  for (const apiId of apis) keyCache.dropApi(apiId);
  for (const apiId of keys === null ? [null] : apis) openCounts.forgetApi(apiId);
  for (const id of identities) keyCache.dropIdentity(id);
  for (const id of plans) keyCache.dropPlan(id);
  if (keys === null) namespaces.clear();
  for (const subject of changedNamespaces) namespaces.drop(subject);
  if (rbac) keyCache.dropAccess();
  if (rootKeys) rootKeyAuthenticator.forget();
  if (rootKeys) sessions.authenticator.forget();
}

/** The application error for a failure of the database; other errors stay as they are. */
function toAppError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return new AppError('UNAVAILABLE', error.message);
  if (error instanceof StorageOutcomeUnknown) return new AppError('OUTCOME_UNKNOWN', error.message);
  return error;
}

/** null: nobody expected this failure. */
export function expected(failure: unknown): AppError | null {
  const error = toAppError(failure);
  return error instanceof AppError ? error : null;
}
