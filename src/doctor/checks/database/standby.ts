import { defineCheck } from '../../check.ts';

export const standby = defineCheck({
  name: 'standby',
  meaning: 'The standby that commits wait for is connected.',
  severity: 'problem',
  needs: ['standby'],
  find({ standby: { awaited, synchronous } }) {
    if (awaited === '' || synchronous === null || synchronous > 0) return null;
    return {
      text: `PostgreSQL waits for a standby with every commit (synchronous_standby_names = ${awaited}), and none is connected: every spend is answered 503.`,
      fix: 'Start the standby and look at its log. Without one, a failover loses answered spends: only when that is accepted, empty synchronous_standby_names.',
      command: `psql "$KEYSTILE_DATABASE_URL" -c 'select application_name, state, sync_state from pg_stat_replication'`,
    };
  },
});
