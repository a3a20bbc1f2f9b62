import { OLD_TRANSACTION_MS } from '../../core/health.ts';
import type { Task, TaskLog } from '../port/tasks.ts';
import { WarningWatch } from './connection/durability.ts';
import type { PostgresStorage } from './storage.ts';

const HELLO_EVERY_MS = 1_000;
const TRANSACTIONS_EVERY_MS = 60_000;

interface PostgresTaskOptions {
  readonly storage: PostgresStorage;
  readonly log: TaskLog;
  /** How long ago this node last exchanged local counts; null = never. */
  readonly syncLagMs: () => number | null;
}

/** Background tasks of a node on a shared database. */
export class PostgresTasks {
  readonly tasks: readonly Task[];
  /** Age of the oldest transaction on the database, as it was last seen. */
  oldestTransactionMs = 0;

  constructor({ storage, log, syncLagMs }: PostgresTaskOptions) {
    const watch = new WarningWatch(storage, log);
    this.tasks = [
      { name: 'announcing this node to the others', everyMs: HELLO_EVERY_MS, run: () => storage.sayHello(syncLagMs()) },
      { name: 'watching the settings of the database', everyMs: HELLO_EVERY_MS, run: async () => watch.look() },
      {
        name: 'looking for old transactions',
        everyMs: TRANSACTIONS_EVERY_MS,
        run: async () => {
          this.oldestTransactionMs = await storage.oldestTransactionMs();
          if (this.oldestTransactionMs < OLD_TRANSACTION_MS) return;
          log.warn('a database transaction has been open for a long time: busy counters are slow until it ends', {
            milliseconds: this.oldestTransactionMs,
          });
        },
      },
    ];
  }
}
