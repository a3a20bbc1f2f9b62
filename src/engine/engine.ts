import { AppError } from '../core/errors.ts';
import { AnalyticsAdmin } from './admin/analytics.ts';
import { ApiAdmin, DeleteAllKeys } from './admin/apis.ts';
import { AuditLog } from './admin/audit.ts';
import type { AdminContext } from './admin/change/adminContext.ts';
import { ApplyChange, SendChange, EventMaker } from './admin/change/applyChange.ts';
import { type QuotaLimits, Quotas } from './admin/change/quotas.ts';
import { CreditAdmin } from './admin/credits.ts';
import { EventLog } from './admin/events.ts';
import { DeleteIdentity, IdentityAdmin } from './admin/identities.ts';
import { ImportAdmin, ImportQueue } from './admin/imports.ts';
import { DeleteKey, KeyAdmin, KeyGrants, RotateKey } from './admin/keys.ts';
import { NewIdentities } from './admin/createKeys.ts';
import type { Outgoing, SecretBox } from './admin/webhookPorts.ts';
import { AssignPlan, PlanAdmin } from './admin/plans.ts';
import { DueCredits } from './dueCredits.ts';
import { NodeMemory } from './nodeMemory.ts';
import { type PortalPlaces, PortalSessions } from './admin/portalSessions.ts';
import { PermissionAdmin } from './admin/permissions.ts';
import { ReservationAdmin } from './admin/reservations.ts';
import { RootKeyAdmin } from './admin/rootKeys.ts';
import { makeSessions } from './admin/sessions.ts';
import { UsageAdmin } from './admin/statements.ts';
import { type ServiceStatus, StatusAdmin } from './admin/status.ts';
import { WebhookAdmin, WebhookDeliveries, DeliverEvents } from './admin/webhooks.ts';
import { ExpiringKeys, TellCredits, TellLimits, TellRefills } from './alerts/alerts.ts';
import { CountWriting, type Retention, SLICE } from './analytics/writeCounts.ts';
import { ManagementQuota, VerificationQuota } from './perSecondQuotas.ts';
import { makeRatelimits } from './ratelimits/ratelimits.ts';
import type { System } from './platform.ts';
import type { Turns } from './fairTurns.ts';
import { Verifier } from './verify/verifier.ts';
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

/** The nouns of management, by what they do. */
function makeAdmins(
  context: AdminContext,
  { memory, dueCredits, options }: { memory: NodeMemory; dueCredits: DueCredits; options: EngineOptions },
) {
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
    assignPlan: new AssignPlan(context, plans, dueCredits),
    credits: new CreditAdmin(context),
    rootKeys: new RootKeyAdmin(context),
    sessions: makeSessions(context, memory.sessions),
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
  const memory = new NodeMemory(options);
  const { keyCache, localLimits, openCounts, refills, notices } = memory;
  const { ledger, freshness, records } = storage;
  const analytics = options.countsVerifications ? openCounts : null;
  const events = new EventMaker(system);
  const sender = new SendChange({ ledger, events, sha256: system.sha256, memory });
  const dueCredits = new DueCredits({ storage, refills, events, sender, analytics });
  const verifier = new Verifier({ keyCache, localLimits, ledger, freshness, refills, dueCredits, analytics, notices });
  const changes = new ApplyChange(sender, dueCredits);
  const shared = { events, storage, system, turns, refills, defaultTimezone, newIdentities };
  const context: AdminContext = { ...shared, changes, dueCredits, quotas: new Quotas(storage, quotas) };
  const admins = makeAdmins(context, { memory, dueCredits, options });
  const ratelimits = makeRatelimits(context, {
    memory,
    maxPerNamespace: options.maxLimitsPerNamespace,
    stoppedBecause: () => verifier.stoppedBecause,
  });
  const counting = { openCounts, analytics: storage.analytics, records, sliceSize: SLICE, retention };
  const countWriting = new CountWriting(counting);
  freshness.onChange((change) => memory.forget(change));
  return {
    storage,
    system,
    turns,
    memory,
    events,
    verifier,
    ...admins,
    ratelimits,
    countWriting,
    dueCredits,
    /** null = verifications are not bounded. */
    verificationQuota:
      quotas.verificationsPerSecond === null ? null : new VerificationQuota(quotas.verificationsPerSecond),
    managementQuota: new ManagementQuota(quotas.managementCallsPerSecond, quotas.managementBytesPerSecond),
    analytics: new AnalyticsAdmin(context, countWriting, retention),
    reservations: new ReservationAdmin(context, analytics),
    tellCredits: new TellCredits(context, notices),
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
