import { defineCheck } from '../../check.ts';

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
