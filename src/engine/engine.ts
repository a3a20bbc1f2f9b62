import { AppError } from '../core/errors.ts';
import type { RecordChange } from '../storage/port/freshness.ts';
import { StorageOutcomeUnknown, type Storage, StorageUnavailable } from '../storage/port/storage.ts';
import { Notices } from './alerts/notices.ts';
import { TellCredits } from './alerts/tellCredits.ts';
import { TellLimits } from './alerts/tellLimits.ts';
import { TellRefills } from './alerts/tellRefills.ts';
import { RootKeyAuthenticator } from './admin/rootKeys/rootKeyAuthenticator.ts';
import { AnalyticsAdmin } from './admin/analytics/analyticsAdmin.ts';
import { ApiAdmin } from './admin/apis/apiAdmin.ts';
import { AuditLog } from './admin/audit/auditLog.ts';
import { EventLog } from './admin/events/eventLog.ts';
import { DeleteAllKeys } from './admin/apis/deleteAllKeys.ts';
import { ApplyChange } from './admin/change/applyChange.ts';
import { SendChange } from './admin/change/sendChange.ts';
import { AssignPlan } from './admin/plans/assignPlan.ts';
import { PlanMoves } from './admin/plans/planMoves.ts';
import { CreditAdmin } from './admin/credits/creditAdmin.ts';
import { PlanAdmin } from './admin/plans/planAdmin.ts';
import { EventMaker } from './admin/change/eventMaker.ts';
import { DeleteIdentity } from './admin/identities/deleteIdentity.ts';
import { IdentityAdmin } from './admin/identities/identityAdmin.ts';
import { ImportQueue } from './admin/imports/importQueue.ts';
import { ImportAdmin } from './admin/imports/importAdmin.ts';
import { KeyGrants } from './admin/keys/keyGrants.ts';
import { DeleteKey } from './admin/keys/deleteKey.ts';
import { ExpiringKeys } from './admin/keys/expiringKeys.ts';
import { RotateKey } from './admin/keys/rotateKey.ts';
import { KeyAdmin } from './admin/keys/keyAdmin.ts';
import type { AdminContext } from './admin/change/adminContext.ts';
import { PermissionAdmin } from './admin/rbac/permissionAdmin.ts';
import { type QuotaLimits, Quotas } from './admin/change/quotas.ts';
import { DeliverEvents } from './admin/webhooks/deliverEvents.ts';
import type { Outgoing, SecretBox } from './admin/webhooks/outgoing.ts';
import { WebhookAdmin } from './admin/webhooks/webhookAdmin.ts';
import { WebhookDeliveries } from './admin/webhooks/webhookDeliveries.ts';
import { RootKeyAdmin } from './admin/rootKeys/rootKeyAdmin.ts';
import { type PortalPlaces, PortalSessions } from './admin/portal/portalSessions.ts';
import { makeSessions, type Sessions } from './admin/sessions/makeSessions.ts';
import { LocalLimits } from './local/localLimits.ts';
import { KeyCache } from './cache/keyCache.ts';
import { NewIdentities } from './admin/keys/newIdentities.ts';
import { makeStandalone, type Standalone } from './standalone/makeStandalone.ts';
import { RefillPlans } from './refill/refillPlans.ts';
import { DueSweep } from './due/dueSweep.ts';
import { ReservationAdmin } from './admin/reservations/reservationAdmin.ts';
import type { System } from './system.ts';
import type { Turns } from './turns.ts';
import { TagLists } from './analytics/tagLists.ts';
import { OpenCounts } from './analytics/openCounts.ts';
import { type Retention, SLICE, CountWriting } from './analytics/writeCounts.ts';
import type { ServiceStatus } from './admin/status/serviceStatus.ts';
import { StatusAdmin } from './admin/status/statusAdmin.ts';
import { UsageAdmin } from './admin/usage/usageAdmin.ts';
import { ManagementQuota, VerificationQuota } from './perSecondQuotas.ts';
import { Verifier } from './verify/verifier.ts';

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

/** The service without a wire format. HTTP, the command line and the tests call it. */
export class Engine {
  readonly storage: Storage;
  readonly system: System;
  readonly turns: Turns;
  readonly keyCache: KeyCache;
  readonly localLimits: LocalLimits;
  readonly verifier: Verifier;
  readonly rootKeyAuthenticator: RootKeyAuthenticator;
  readonly apis: ApiAdmin;
  readonly keys: KeyAdmin;
  readonly deleteKey: DeleteKey;
  readonly expiringKeys: ExpiringKeys;
  readonly rotateKey: RotateKey;
  readonly deleteAllKeys: DeleteAllKeys;
  readonly keyGrants: KeyGrants;
  readonly permissions: PermissionAdmin;
  readonly identities: IdentityAdmin;
  readonly newIdentities: NewIdentities;
  readonly plans: PlanAdmin;
  readonly credits: CreditAdmin;
  readonly assignPlan: AssignPlan;
  readonly deleteIdentity: DeleteIdentity;
  readonly rootKeys: RootKeyAdmin;
  readonly sessions: Sessions;
  readonly portal: PortalSessions;
  readonly imports: ImportAdmin;
  readonly importQueue: ImportQueue;
  readonly auditLog: AuditLog;
  readonly events: EventMaker;
  readonly eventLog: EventLog;
  readonly webhooks: WebhookAdmin;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly deliverEvents: DeliverEvents;
  /** null = verifications are not bounded. */
  readonly verificationQuota: VerificationQuota | null;
  readonly managementQuota: ManagementQuota;
  readonly standalone: Standalone;
  readonly sweep: DueSweep;
  readonly reservations: ReservationAdmin;
  readonly tellCredits: TellCredits;
  readonly tellLimits: TellLimits;
  readonly tellRefills: TellRefills;
  readonly openCounts: OpenCounts;
  readonly countWriting: CountWriting;
  readonly analytics: AnalyticsAdmin;
  readonly usage: UsageAdmin;
  readonly status: StatusAdmin;
  readonly eventRetentionMs: number;
  readonly statementRetentionMs: number;
  readonly auditRetentionMs: number | null;

  constructor(options: EngineOptions) {
    const { storage, system, defaultTimezone, newIdentities, maxCachedKeys, maxLocalOwners, quotas } = options;
    const refills = new RefillPlans();
    const notices = new Notices();
    this.storage = storage;
    this.system = system;
    this.turns = options.turns;
    this.keyCache = new KeyCache(storage.records, maxCachedKeys, system.textReader);
    this.localLimits = new LocalLimits(storage.localCounts, {
      nowMs: () => storage.ledger.nowMs(),
      maxOwners: maxLocalOwners,
      maxPerGroup: options.maxLimitsPerNamespace,
    });
    this.openCounts = new OpenCounts(
      this.keyCache.counts,
      () => storage.ledger.nowMs(),
      new TagLists(options.maxTagLists),
    );
    const analytics = options.countsVerifications ? this.openCounts : null;
    const events = new EventMaker(system);
    const sender = new SendChange({
      ledger: storage.ledger,
      events,
      sha256: system.sha256,
      forget: (change) => this.#forget(change),
      learn: (mark, nowMs) => refills.learn(mark, nowMs),
    });
    const moves = new PlanMoves({ storage, refills, sender });
    const sweep = new DueSweep({ storage, refills, events, moves, analytics });
    const settle = async (owner: string): Promise<void> => void (await sweep.settle(owner));
    this.verifier = new Verifier({
      keys: this.keyCache,
      localLimits: this.localLimits,
      ledger: storage.ledger,
      freshness: storage.freshness,
      refills,
      settle,
      analytics,
      notices,
    });
    this.rootKeyAuthenticator = new RootKeyAuthenticator(storage.records, storage.freshness);
    this.events = events;
    const context: AdminContext = {
      events,
      storage,
      system,
      turns: options.turns,
      refills,
      defaultTimezone,
      newIdentities,
      changes: new ApplyChange(sender, settle),
      settle,
      quotas: new Quotas(storage, quotas),
    };
    this.keys = new KeyAdmin(context);
    this.deleteKey = new DeleteKey(context);
    this.expiringKeys = new ExpiringKeys(context);
    this.rotateKey = new RotateKey(context);
    this.keyGrants = new KeyGrants(context);
    this.permissions = new PermissionAdmin(context);
    this.deleteAllKeys = new DeleteAllKeys(context);
    this.apis = new ApiAdmin(context, this.deleteAllKeys);
    this.identities = new IdentityAdmin(context);
    this.newIdentities = new NewIdentities(context);
    this.deleteIdentity = new DeleteIdentity(context);
    this.plans = new PlanAdmin(context);
    this.credits = new CreditAdmin(context);
    this.assignPlan = new AssignPlan(context, this.plans, moves);
    this.rootKeys = new RootKeyAdmin(context);
    this.sessions = makeSessions(context);
    this.portal = new PortalSessions(context, options.portal);
    this.importQueue = new ImportQueue(context);
    this.imports = new ImportAdmin(context, this.importQueue);
    this.auditLog = new AuditLog(storage.records);
    this.eventLog = new EventLog(storage.events);
    this.eventRetentionMs = options.eventRetentionMs;
    this.statementRetentionMs = options.statementRetentionMs;
    this.auditRetentionMs = options.auditRetentionMs;
    this.usage = new UsageAdmin(context);
    this.status = new StatusAdmin(options.readStatus);
    const webhookContext = { ...context, outgoing: options.outgoing, secretBox: options.secretBox };
    this.webhooks = new WebhookAdmin(webhookContext);
    this.webhookDeliveries = new WebhookDeliveries(webhookContext, this.webhooks);
    this.deliverEvents = new DeliverEvents(webhookContext);
    const { verificationsPerSecond, managementCallsPerSecond, managementBytesPerSecond } = quotas;
    this.verificationQuota = verificationsPerSecond === null ? null : new VerificationQuota(verificationsPerSecond);
    this.managementQuota = new ManagementQuota(managementCallsPerSecond, managementBytesPerSecond);
    this.standalone = makeStandalone(context, {
      localLimits: this.localLimits,
      maxPerNamespace: options.maxLimitsPerNamespace,
      stoppedBecause: () => this.verifier.stoppedBecause,
    });
    this.countWriting = new CountWriting({
      openCounts: this.openCounts,
      analytics: storage.analytics,
      records: storage.records,
      sliceSize: SLICE,
      retention: options.retention,
    });
    this.analytics = new AnalyticsAdmin(context, this.countWriting, options.retention);
    this.sweep = sweep;
    this.reservations = new ReservationAdmin(context, analytics);
    this.tellCredits = new TellCredits(context, notices, settle);
    this.tellLimits = new TellLimits(context, notices);
    this.tellRefills = new TellRefills(context);
    storage.freshness.onChange((change) => this.#forget(change));
  }

  /** Drops what this node has cached of changed records. */
  #forget({ keys, apis, identities, plans, namespaces, rbac, rootKeys }: RecordChange): void {
    if (keys === null) this.keyCache.clear();
    else for (const digest of keys) this.keyCache.drop(digest);
    for (const apiId of apis) this.keyCache.dropApi(apiId);
    for (const apiId of keys === null ? [null] : apis) this.openCounts.forgetApi(apiId);
    for (const id of identities) this.keyCache.dropIdentity(id);
    for (const id of plans) this.keyCache.dropPlan(id);
    if (keys === null) this.standalone.namespaces.clear();
    for (const subject of namespaces) this.standalone.namespaces.drop(subject);
    if (rbac) this.keyCache.dropAccess();
    if (rootKeys) this.rootKeyAuthenticator.forget();
    if (rootKeys) this.sessions.authenticator.forget();
  }

  /** Saves what is only in memory, before the process ends. */
  async close(): Promise<void> {
    await this.deliverEvents.close();
    try {
      if (this.localLimits.unsavedSize > 0) await this.localLimits.sync();
    } finally {
      await this.countWriting.flush();
    }
  }
}

/** The application error for a failure of the database; other errors stay as they are. */
export function toAppError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return new AppError('UNAVAILABLE', error.message);
  if (error instanceof StorageOutcomeUnknown) return new AppError('OUTCOME_UNKNOWN', error.message);
  return error;
}
