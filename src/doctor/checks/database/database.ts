import { defineCheck, quoted } from '../../check.ts';

export const database = defineCheck({
  name: 'database',
  meaning: 'The database answers, and no commit fails.',
  severity: 'problem',
  needs: ['databaseFailure', 'config'],
  find({ databaseFailure, config }) {
    if (databaseFailure === null) return null;
    const text = `The database cannot be used, and spends are refused: ${databaseFailure}`;
    if (config.databaseUrl === null)
      return {
        text,
        fix: `Check the disk of ${config.data} and the log of the service. Commits go on when there is space again; after a failure of the disk, start the service again.`,
        command: `df -h ${quoted(config.data)}`,
      };
    return {
      text,
      fix: 'Check that PostgreSQL runs, that this node reaches it, and that its standby is connected. The node goes on by itself.',
      command: `psql "$KEYSTILE_DATABASE_URL" -c 'select pg_is_in_recovery()'`,
    };
  },
});
