import { LONG_WAL_BYTES, OLD_TRANSACTION_MS } from '../core/health.ts';
import { defineCheck, type Finding, lasting, psql, quoted } from './check.ts';

export const copiedDatabase = defineCheck({
  name: 'copied-database',
  meaning: 'The database was made in its data folder and is not a copy from elsewhere.',
  severity: 'problem',
  needs: ['copyRefusal', 'config'],
  find({ copyRefusal, config }) {
    if (copyRefusal === null || config.acceptLostCommits) return null;
    return {
      text: copyRefusal,
      fix: 'After a restore, accept the copy for one start. Then remove the setting, and correct credits and keys that changed since the copy.',
      command: 'KEYSTILE_ACCEPT_LOST_COMMITS=true keystile serve',
    };
  },
});

/** What to do where the database refuses for good, and what shows why. */
const REFUSALS = {
  rights: {
    fix: 'Set KEYSTILE_DATABASE_URL to the role that owns the tables, or grant this role the right. The command shows the rights on schemas, tables and functions, and their owners.',
    command: psql(String.raw`\dn+`, String.raw`\dp`, String.raw`\dt`, String.raw`\df+ ledger_*`),
  },
  tables: {
    fix: 'The tables do not belong to Keystile: check KEYSTILE_DATABASE_URL. The command lists the tables.',
    command: psql(String.raw`\dt`),
  },
  pooler: {
    fix: 'Point KEYSTILE_DATABASE_URL at PostgreSQL itself: nodes hold few connections, so a pooler saves nothing. Or set pool_mode = session for this database in the pooler. The command shows the address of PostgreSQL behind the pooler.',
    command: psql('select inet_server_addr(), inet_server_port()'),
  },
};

function damaged(cause: 'damage' | 'counts', data: string): Pick<Finding, 'fix' | 'command'> {
  if (cause === 'damage')
    return {
      fix: 'Stop the service, and restore the newest backup. docs/incidents.md#the-database-is-damaged says how, and what to do without a backup.',
      command: 'keystile backup restore FILE --force',
    };
  return {
    fix: 'Stop the service, move away analytics.db and the files whose names begin with it, and start the service again. It then begins without counts.',
    command: `mkdir damaged && mv ${quoted(data)}/analytics.db* damaged/`,
  };
}

export const database = defineCheck({
  name: 'database',
  meaning: 'The database answers, no commit fails, and no damage was found in it.',
  severity: 'problem',
  needs: ['databaseFailure', 'config'],
  find({ databaseFailure, config }) {
    if (databaseFailure === null) return null;
    const { cause } = databaseFailure;
    if (cause === 'damage' || cause === 'counts') return { text: databaseFailure.text, ...damaged(cause, config.data) };
    if (cause !== null) return { text: `A node cannot use the database: ${databaseFailure.text}`, ...REFUSALS[cause] };
    const text = `The database cannot be used, and spends are refused: ${databaseFailure.text}`;
    if (config.databaseUrl === null)
      return {
        text,
        fix: `Check the disk of ${config.data} and the log of the service. Commits continue once there is space. After a disk failure, start the service again.`,
        command: `df -h ${quoted(config.data)}`,
      };
    return {
      text,
      fix: 'Check that PostgreSQL runs, that this node reaches it and may connect, and that its standby is connected. The node then continues by itself.',
      command: psql('select pg_is_in_recovery()'),
    };
  },
});

export const databaseConnections = defineCheck({
  name: 'database-connections',
  meaning: 'PostgreSQL has connections left for one more node.',
  severity: 'problem',
  needs: ['sessions'],
  find({ sessions: { free, needed } }) {
    if (free >= needed) return null;
    return {
      text: `PostgreSQL allows only ${free} more connections, and a node needs ${needed}: a node that starts, or connects again, is refused.`,
      fix: 'Raise max_connections and restart PostgreSQL, lower KEYSTILE_DATABASE_POOL, or end programs that hold connections.',
      command: psql('alter system set max_connections = 200'),
    };
  },
});

export const databaseSettings = defineCheck({
  name: 'database-settings',
  meaning: 'The settings of the database keep what was answered, even after a crash.',
  severity: 'problem',
  needs: ['databaseWarnings'],
  find({ databaseWarnings }) {
    if (databaseWarnings.length === 0) return null;
    return {
      text: databaseWarnings.join(' '),
      fix: 'Change the setting of PostgreSQL as the message says, and reload PostgreSQL.',
      command: psql(...switchOn(databaseWarnings), 'select pg_reload_conf()'),
    };
  },
});

/** A statement for each setting that is off. Which standby is awaited is for the operator to say. */
function switchOn(warnings: readonly string[]): string[] {
  const settings = warnings.flatMap((warning) => /\b(\w+) = off/.exec(warning)?.[1] ?? []);
  return settings.map((setting) => `alter system set ${setting} = on`);
}

export const databaseVersion = defineCheck({
  name: 'database-version',
  meaning: 'PostgreSQL is new enough.',
  severity: 'problem',
  needs: ['databaseVersion'],
  find({ databaseVersion: { found, oldest } }) {
    if (found >= oldest) return null;
    return {
      text: `The database is PostgreSQL ${found}; Keystile needs ${oldest} or newer.`,
      fix: 'Upgrade PostgreSQL with pg_upgrade, or set KEYSTILE_DATABASE_URL to a newer server.',
      command: 'pg_upgrade --help',
    };
  },
});

export const lostCommits = defineCheck({
  name: 'lost-commits',
  meaning: 'A start refuses a database that has lost commits.',
  severity: 'problem',
  needs: ['config'],
  find({ config: { acceptLostCommits } }) {
    if (!acceptLostCommits) return null;
    return {
      text: 'KEYSTILE_ACCEPT_LOST_COMMITS is on: a start accepts a restored or damaged database without a warning.',
      fix: 'Remove the setting. It is meant for the one start after a restore.',
      command: 'unset KEYSTILE_ACCEPT_LOST_COMMITS',
    };
  },
});

export const moved = defineCheck({
  name: 'moved',
  meaning: 'The database was not moved to another one, and no import into it is unfinished.',
  severity: 'problem',
  needs: ['useRefusal'],
  find({ useRefusal }) {
    if (useRefusal === null) return null;
    const { kind, text } = useRefusal;
    if (kind === 'import')
      return {
        text,
        fix: 'After an import from a file, run the same command again. After an import from a pipe, drop the database and start over.',
        command: 'keystile data import FILE',
      };
    return {
      text,
      fix: 'Start the service in the other place. Release this database only if the other one is never used.',
      command: 'keystile data release',
    };
  },
});

export const schema = defineCheck({
  name: 'schema',
  meaning: 'The schema of the database fits this program.',
  severity: 'problem',
  needs: ['schema', 'config'],
  find({ schema: { version, compatibleFrom, own, isForeign }, config }) {
    const setting = config.databaseUrl === null ? 'KEYSTILE_DATA' : 'KEYSTILE_DATABASE_URL';
    if (version === 0)
      return {
        text: 'The database is empty: no service was started on it yet.',
        fix: `Start the service, which creates the tables, or set ${setting} to the database of the service.`,
        command: 'keystile serve',
      };
    if (isForeign)
      return {
        text: 'The database was written by a program before 0.1.0, which this program cannot read.',
        fix: `Set ${setting} to another database, and create or import the keys again.`,
        command: 'keystile import FILE --api ID',
      };
    if (version > own && compatibleFrom > own)
      return {
        text: `The database has schema version ${version}, and this program is for ${own}.`,
        fix: 'Run the newer version of Keystile that wrote it.',
        command: 'keystile --version',
      };
    if (version < own)
      return {
        text: `The database has schema version ${version}, and this program is for ${own}.`,
        fix: 'Start the service, which upgrades the database.',
        command: 'keystile serve',
      };
    return null;
  },
});

export const standby = defineCheck({
  name: 'standby',
  meaning: 'The standbys that commits wait for are connected.',
  severity: 'problem',
  needs: ['standby'],
  find({ standby: { awaited, synchronous } }) {
    const needed = neededStandbys(awaited);
    if (synchronous >= needed) return null;
    const waits = `PostgreSQL waits for ${needed === 1 ? 'a standby' : `${needed} standbys`} with every commit (synchronous_standby_names = ${awaited})`;
    const connected = synchronous === 0 ? 'none is' : `${synchronous} of them ${synchronous === 1 ? 'is' : 'are'}`;
    return {
      text: `${waits}, and ${connected} connected: every spend is answered 503.`,
      fix: 'Start the standby and look at its log. Without one, a failover loses answered spends: only when that is accepted, empty synchronous_standby_names.',
      command: psql('select application_name, state, sync_state from pg_stat_replication'),
    };
  },
});

/** How many standbys a commit waits for: `FIRST n (...)`, `ANY n (...)` and `n (...)` say it, and a list alone means one. */
function neededStandbys(awaited: string): number {
  if (awaited.trim() === '') return 0;
  const [, count] = /^\s*(?:(?:first|any)\s+)?(\d+)\s*\(/i.exec(awaited) ?? [];
  return count === undefined ? 1 : Number(count);
}

export const transactions = defineCheck({
  name: 'transactions',
  meaning: 'No transaction on the database stays open for long.',
  severity: 'problem',
  needs: ['oldestTransactionMs'],
  find({ oldestTransactionMs }) {
    if (oldestTransactionMs < OLD_TRANSACTION_MS) return null;
    return {
      text: `A transaction on the database has been open for ${lasting(oldestTransactionMs)}. Busy counters are slow until it ends.`,
      fix: 'Look for it in pg_stat_activity, and end the program that opened it: often a backup or an idle shell.',
      command: psql('select pid, application_name, state, query from pg_stat_activity order by xact_start limit 3'),
    };
  },
});

const MIB = 2 ** 20;

export const writeAheadLog = defineCheck({
  name: 'write-ahead-log',
  meaning: 'The write-ahead log of the embedded database is short: no other program keeps it from being reused.',
  severity: 'problem',
  needs: ['walBytes', 'config'],
  find({ walBytes, config }) {
    if (walBytes <= LONG_WAL_BYTES) return null;
    return {
      text: `A write-ahead log has grown to ${Math.round(walBytes / MIB)} MiB: another program has been reading the database for a long time.`,
      fix: 'End the backup or the shell that has keystile.db or analytics.db open. The log then shrinks by itself.',
      command: `fuser -v ${quoted(`${config.data}/keystile.db`)} ${quoted(`${config.data}/analytics.db`)}`,
    };
  },
});
