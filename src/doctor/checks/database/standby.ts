import { defineCheck, psql } from '../../check.ts';

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
