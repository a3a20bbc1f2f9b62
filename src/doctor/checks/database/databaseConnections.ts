import { defineCheck, psql } from '../../check.ts';

export const databaseConnections = defineCheck({
  name: 'database-connections',
  meaning: 'PostgreSQL has connections left for one more node.',
  severity: 'problem',
  needs: ['sessions'],
  find({ sessions: { free, needed } }) {
    if (free >= needed) return null;
    return {
      text: `PostgreSQL allows only ${free} more connections, and a node needs ${needed}: a node that starts, or connects again, is refused.`,
      fix: 'Raise max_connections and restart PostgreSQL, lower KEYSTILE_DATABASE_POOL, or end programs that keep connections.',
      command: psql('alter system set max_connections = 200'),
    };
  },
});
