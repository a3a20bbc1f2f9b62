import { defineCheck, type Finding, psql, quoted } from '../../check.ts';

/** What to do where the database refuses for good, and what shows why. */
const REFUSALS = {
  rights: {
    fix: 'Let KEYSTILE_DATABASE_URL name the role that owns the tables, or give this role the right. The command shows the rights on schemas, tables and functions, and who owns them.',
    command: psql(String.raw`\dn+`, String.raw`\dp`, String.raw`\dt`, String.raw`\df+ ledger_*`),
  },
  tables: {
    fix: 'The tables are not those of Keystile: check KEYSTILE_DATABASE_URL. The command shows which tables there are.',
    command: psql(String.raw`\dt`),
  },
  pooler: {
    fix: 'Let KEYSTILE_DATABASE_URL name PostgreSQL itself: nodes hold few connections, and a pooler gains nothing. Or set pool_mode = session for this database in the pooler. The command shows the address of PostgreSQL behind it.',
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
    fix: 'Stop the service, move analytics.db and the files that begin with its name away, and start the service, which then begins without counts.',
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
        fix: `Check the disk of ${config.data} and the log of the service. Commits go on when there is space again; after a failure of the disk, start the service again.`,
        command: `df -h ${quoted(config.data)}`,
      };
    return {
      text,
      fix: 'Check that PostgreSQL runs, that this node reaches it and may connect, and that its standby is connected. The node goes on by itself.',
      command: psql('select pg_is_in_recovery()'),
    };
  },
});
