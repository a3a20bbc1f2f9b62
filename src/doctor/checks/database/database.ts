import { defineCheck, psql, quoted } from '../../check.ts';

const FIX = {
  rights: 'Let KEYSTILE_DATABASE_URL name the role that owns the tables. The command shows the owner of each.',
  tables:
    'The tables are not those of Keystile: check KEYSTILE_DATABASE_URL. The command shows which tables there are.',
};

export const database = defineCheck({
  name: 'database',
  meaning: 'The database answers, and no commit fails.',
  severity: 'problem',
  needs: ['databaseFailure', 'config'],
  find({ databaseFailure, config }) {
    if (databaseFailure === null) return null;
    const { cause } = databaseFailure;
    const text = `The database cannot be used, and spends are refused: ${databaseFailure.text}`;
    if (config.databaseUrl === null)
      return {
        text,
        fix: `Check the disk of ${config.data} and the log of the service. Commits go on when there is space again; after a failure of the disk, start the service again.`,
        command: `df -h ${quoted(config.data)}`,
      };
    if (cause !== null) return { text, fix: FIX[cause], command: psql(String.raw`\dt`) };
    return {
      text,
      fix: 'Check that PostgreSQL runs, that this node reaches it, and that its standby is connected. The node goes on by itself.',
      command: psql('select pg_is_in_recovery()'),
    };
  },
});
