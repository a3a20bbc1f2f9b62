import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { openStorage, untilBackend } from './faultLab.ts';

const STANDBY = 'second';

/** A primary whose commits wait for its standby. */
export class FaultPair implements AsyncDisposable {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;

  private constructor(primary: PostgresServer, standby: PostgresServer) {
    this.primary = primary;
    this.standby = standby;
  }

  static async start(): Promise<FaultPair> {
    const primary = await PostgresServer.start();
    const standby = await primary.startStandby(STANDBY);
    await primary.synchronousWith([STANDBY]);
    return new FaultPair(primary, standby);
  }

  /** Both servers, of which one takes writes. */
  url(applicationName: string): string {
    const hosts = `${this.primary.hostPort},${this.standby.hostPort}`;
    return `postgres://postgres@${hosts}/postgres?application_name=${applicationName}`;
  }

  open(applicationName: string): Promise<PostgresStorage> {
    return openStorage(this.url(applicationName));
  }

  query(sql: string): Promise<Record<string, unknown>[]> {
    return this.primary.query(sql);
  }

  /** A backend of this application whose commit waits for the standby. */
  untilWaiting(applicationName: string, more = 'true'): Promise<number> {
    return untilBackend(this, `wait_event = 'SyncRep' AND application_name LIKE '${applicationName} %' AND ${more}`);
  }

  /** How many backends of it wait for the standby, also such that their client has given up. */
  async waiting(applicationName: string): Promise<number> {
    const [row] = await this.query(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE '${applicationName} %'`,
    );
    return Number(row?.['n']);
  }

  /** Ends its wait. The commit stays, and comes back as done, with a warning. */
  async cancelWait(pid: number): Promise<void> {
    await this.query(`SELECT pg_cancel_backend(${pid})`);
  }

  async standbyBack(): Promise<void> {
    await this.standby.restart();
    await untilBackend({ query: (sql) => this.primary.query(sql) }, `backend_type = 'walsender'`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.standby.remove();
    await this.primary.remove();
  }
}

/** What comes first: the answer, or the event that the test waits for meanwhile. */
export function firstOf(answer: Promise<unknown>, event: Promise<unknown>): Promise<'answered' | 'refused' | 'event'> {
  return Promise.race([
    answer.then(
      () => 'answered' as const,
      () => 'refused' as const,
    ),
    event.then(() => 'event' as const),
  ]);
}
