import type { AuditEntries } from '../port/auditEntries.ts';
import type { Events, Tell, Told, Webhooks } from '../port/events.ts';
import type { Reservations, Statements } from '../port/credits.ts';
import type { Imports } from '../port/imports.ts';
import type { Storage } from '../port/storage.ts';
import type { Records } from '../port/records.ts';
import { SqlAuditEntries } from '../sql/auditEntries.ts';
import { SqlEvents, SqlTold } from '../sql/events.ts';
import { SqlReservations } from '../sql/reservations.ts';
import { SqlStatements } from '../sql/statements.ts';
import { SqlWebhooks } from '../sql/webhooks.ts';
import { SqlImports } from '../sql/imports.ts';
import { SqlRecords } from '../sql/records.ts';
import { SqlAnalytics } from '../sql/analytics/analytics.ts';
import type { Analytics } from '../port/analytics.ts';
import { parseAddress } from '../../core/databaseUrl.ts';
import { LedgerClock } from './connection/ledgerClock.ts';
import { Connector, whileItGoesOn, withDeadline } from './connection/connector.ts';
import { MissingRight } from './connection/wrongServer.ts';
import { PostgresLocalCounts, PUSH_TIMEOUT_MS } from './localCounts.ts';
import { Durability } from './connection/durability.ts';
import { exclusively, Pool } from './connection/pool.ts';
import { openSessions, PostgresFreshness, LastSeenChange } from './freshness/freshness.ts';
import { type LedgerOptions, PostgresLedger } from './ledger/ledger.ts';
import { Management } from './management/management.ts';
import {
  forgetNode,
  listNodes,
  type NodeRecord,
  oldestTransactionMs,
  register,
  sayGoodbye,
  sayHello,
} from './freshness/nodes.ts';
import { refuseUnusable } from './move.ts';
import { PostgresWriter } from './management/changeGroups.ts';
import { PostgresReader } from './management/reader.ts';
import { LOCK_TIMEOUT_MS } from './management/changeTransaction.ts';
import { migrate, notPrepared, readInstallation, tooOldFor } from './schema/migrate.ts';
import { MIGRATIONS, SCHEMA_NAMES, SCHEMA_VERSION } from './schema/schema.ts';
import { findMissingRight } from './schema/tableRights.ts';
import { Session } from './connection/session.ts';
import { POOLED, requireOwnSessions } from './connection/ownSession.ts';
import { PostgresCountWriter } from './analytics.ts';

/** Connections for the lookups of verifications. */
const LOOKUP_CONNECTIONS = 2;
/** How long a statement of reads and management may take. */
const STATEMENT_TIMEOUT_MS = 5_000;
/** After this time a connection is dropped, because its server may have died silently. */
const ANSWER_WITHIN_MS = STATEMENT_TIMEOUT_MS + 1_000;
/** How long creating or changing the schema may take. The probes in deploy allow for it. */
export const MIGRATE_WITHIN_MS = 600_000;
/** How often a node checks whether another host has become the primary. */
const LOOK_AROUND_MS = 1_000;

export interface PostgresOptions {
  readonly url: string;
  /** Unique: no other node uses it or has used it. */
  readonly node: string;
  readonly location: string;
  readonly version: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** From 0 to 1, for pauses. */
  readonly random: () => number;
  readonly newWorkspaceId: () => string;
  readonly poolSize: number;
  readonly maxWaiting: number;
  readonly idempotencyRetentionMs: number;
  readonly staleMaxMs: number;
  readonly observe: LedgerOptions['observe'];
  /** Whether a database that does not flush what it reports is accepted. */
  readonly allowFsyncOff?: boolean;
  /** Whether an older schema is migrated to the version of this program. Otherwise it is refused. */
  readonly upgrades?: boolean;
  /** Refuses a database without tables, instead of making them. */
  readonly requiresData?: boolean;
  /** Reports what a migration does. */
  readonly tell?: Tell;
  /** Called while it runs, when a newer program has migrated the database in a way that this one cannot work with. */
  readonly onOutdated?: (error: Error) => void;
  /** For tests: `nowMs` gives the time, also for the ledger. */
  readonly isTimeVirtual?: boolean;
}

type Opened = Pick<PostgresStorage, 'durability' | 'workspaceId'> & { readonly connector: Connector };

export class PostgresStorage implements Storage {
  readonly records: Records;
  readonly analytics: Analytics;
  readonly imports: Imports;
  readonly auditEntries: AuditEntries;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly reservations: Reservations;
  readonly statements: Statements;
  readonly told: Told;
  readonly ledger: PostgresLedger;
  readonly localCounts: PostgresLocalCounts;
  readonly freshness: PostgresFreshness;
  /** PostgreSQL looks for damage of its files itself. */
  readonly damage = null;
  readonly lastSeenChange = new LastSeenChange();
  readonly workspaceId: string;
  readonly durability: Durability;
  readonly #pool: Pool;
  /** For queries that verifications wait for, so that management does not delay them. */
  readonly #lookups: Pool;
  readonly #localCountsSession: Session;
  readonly #clock: LedgerClock;
  readonly #options: PostgresOptions;
  readonly #startedAtMs: number;
  readonly #connector: Connector;
  #watchTimer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;

  private constructor({ connector, durability, workspaceId }: Opened, options: PostgresOptions) {
    const { random, monotonicMs } = options;
    const clock = new LedgerClock({ monotonicMs, wallClockMs: options.nowMs }, options.isTimeVirtual === true);
    this.#options = options;
    this.#connector = connector;
    this.durability = durability;
    this.#clock = clock;
    this.workspaceId = workspaceId;
    const common = {
      maxWaiting: options.maxWaiting,
      settings: {
        statement_timeout: String(STATEMENT_TIMEOUT_MS),
        lock_timeout: String(LOCK_TIMEOUT_MS),
        default_transaction_isolation: 'read committed',
      },
      timeoutMs: ANSWER_WITHIN_MS,
      random,
      monotonicMs,
    };
    // The statements of a change are sent together.
    this.#pool = new Pool(connector, { ...common, size: options.poolSize, pipeline: true });
    this.#lookups = new Pool(connector, { ...common, size: LOOKUP_CONNECTIONS, pipeline: true });
    const management = new Management(this.#pool, this.#lookups, clock, options);
    const [reader, lookups] = [new PostgresReader(this.#pool), new PostgresReader(this.#lookups)];
    this.records = new SqlRecords({
      reader,
      lookups,
      lookUp: (digests) => lookups.findKeys(digests),
      version: () => reader.lastChange(),
    });
    this.imports = new SqlImports(reader);
    const sqlWriter = new PostgresWriter(this.#pool);
    this.auditEntries = new SqlAuditEntries(sqlWriter);
    this.events = new SqlEvents(reader, sqlWriter);
    this.webhooks = new SqlWebhooks(reader, sqlWriter);
    this.reservations = new SqlReservations(reader, sqlWriter);
    this.statements = new SqlStatements(reader, sqlWriter);
    this.told = new SqlTold(reader, sqlWriter);
    this.analytics = new SqlAnalytics(reader, new PostgresCountWriter(this.#pool, options.node));
    this.#localCountsSession = new Session(connector, {
      settings: { statement_timeout: String(PUSH_TIMEOUT_MS) },
      timeoutMs: PUSH_TIMEOUT_MS * 2,
      onOpen: async () => this.localCounts.reconnected(),
      random,
      monotonicMs,
    });
    this.localCounts = new PostgresLocalCounts(this.#localCountsSession, this.#lookups, options.node);
    const { lastSeenChange } = this;
    this.freshness = new PostgresFreshness(openSessions(connector, { random, monotonicMs }), {
      lastSeenChange,
      staleMaxMs: options.staleMaxMs,
      clock,
      durability,
      monotonicMs,
      wallClockMs: options.nowMs,
      random,
    });
    this.ledger = new PostgresLedger(connector, management, {
      ...options,
      clock,
      lastSeenChange,
      silence: () => this.#silence(),
      isPooled: () => this.#pooled !== null,
    });
    this.#startedAtMs = options.nowMs();
  }

  /** Rejects with one sentence for a person if the address, the server or the schema cannot be used. */
  static async open(options: PostgresOptions): Promise<PostgresStorage> {
    const connector = new Connector(parseAddress(options.url), options.node);
    const client = await connector.connect({ statement_timeout: String(MIGRATE_WITHIN_MS) });
    const durability = new Durability(options.allowFsyncOff === true);
    let workspaceId: string;
    try {
      await withDeadline(
        client,
        ANSWER_WITHIN_MS,
        requireOwnSessions(client, () => connector.connect({})),
      );
      await withDeadline(client, ANSWER_WITHIN_MS, durability.refuseUnsafe(client));
      await migrate(client, {
        migrations: MIGRATIONS,
        newWorkspaceId: options.newWorkspaceId,
        upgrades: options.upgrades !== false,
        requiresData: options.requiresData === true,
        inTime: (work) => whileItGoesOn(client, MIGRATE_WITHIN_MS, work),
        register:
          options.upgrades === false
            ? null
            : (migrating) => register(migrating, { ...options, schemaVersion: SCHEMA_VERSION }),
        ...(options.tell === undefined ? {} : { tell: options.tell }),
      });
      const lacking = options.upgrades === false ? null : await findMissingRight(client, SCHEMA_NAMES);
      if (lacking !== null) throw new MissingRight(lacking);
      const known = await readInstallation(client);
      refuseUnusable(known);
      workspaceId = known.get('workspace_id') ?? '';
    } catch (error) {
      throw notPrepared(error);
    } finally {
      await client.end();
    }
    const storage = new PostgresStorage({ connector, durability, workspaceId }, options);
    try {
      await storage.freshness.start();
      storage.#watchPrimary();
      return storage;
    } catch (error) {
      await storage.close();
      throw notPrepared(error);
    }
  }

  /** Why the database cannot be relied on; null = it can. */
  #silence(): string | null {
    const stuck = this.#lookups.isStuck ? 'The database does not answer lookups of keys.' : null;
    return this.#unusable(this.durability.silence(this.freshness) ?? stuck);
  }

  get outage(): string | null {
    return this.#unusable(this.freshness.mayUseCache() ? null : this.durability.silence(this.freshness));
  }

  #unusable(silence: string | null): string | null {
    return this.#pooled ?? silence ?? this.durability.unsafeReason ?? this.durability.movedReason;
  }

  /** Why "answered means durable" cannot be kept; null = it can. */
  get unsafeReason(): string | null {
    return this.#pooled ?? this.durability.unsafeReason;
  }

  get #pooled(): string | null {
    return this.#connector.meetsForeignSessions(this.#options.monotonicMs()) ? POOLED : null;
  }

  get warnings(): readonly string[] {
    return this.durability.warnings;
  }

  /** A node must not keep using a server after another one was promoted. */
  #watchPrimary(): void {
    const look = async (): Promise<void> => {
      await this.#connector.lookAround();
      if (!this.#isClosed) this.#watchTimer = setTimeout(() => void look(), LOOK_AROUND_MS);
    };
    this.#watchTimer = setTimeout(() => void look(), LOOK_AROUND_MS);
  }

  /** Where the database is, for a person. */
  static where(url: string): string {
    return new Connector(parseAddress(url), '').where;
  }

  /** The database's clock minus this node's. */
  get clockOffsetMs(): number {
    return this.#clock.offsetMs;
  }

  /** Runs `work` on one node at a time. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return exclusively(this.#pool, work);
  }

  /** The row of this node for the other nodes. */
  get self(): Omit<NodeRecord, 'seenAtMs' | 'syncLagMs'> {
    const { node, location, version } = this.#options;
    return {
      id: node,
      location,
      version,
      startedAtMs: this.#startedAtMs,
      freshnessAgeMs: Math.max(0, Math.round(this.freshness.ageMs)),
      clockOffsetMs: this.#clock.offsetMs,
    };
  }

  /**
   * Tells the other nodes that this node is running, and learns whether the database was migrated to a version that this node does not
   * know.
   */
  async sayHello(syncLagMs: number | null): Promise<void> {
    const found = await sayHello(this.#pool, { ...this.self, schemaVersion: SCHEMA_VERSION, syncLagMs });
    const tooOld = found === null ? null : tooOldFor(found, SCHEMA_VERSION);
    if (tooOld !== null) this.#options.onOutdated?.(tooOld);
  }

  oldestTransactionMs(): Promise<number> {
    return oldestTransactionMs(this.#pool);
  }

  listNodes(): Promise<{ nowMs: number; nodes: readonly NodeRecord[] }> {
    return listNodes(this.#pool);
  }

  forgetNode(id: string): ReturnType<typeof forgetNode> {
    return forgetNode(this.#pool, id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#watchTimer !== null) clearTimeout(this.#watchTimer);
    await this.ledger.close();
    await sayGoodbye(this.#pool, this.#options.node).catch(() => {});
    await this.freshness.close();
    await this.#localCountsSession.close();
    await Promise.all([this.#pool.close(), this.#lookups.close()]);
  }
}
