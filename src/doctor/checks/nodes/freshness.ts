import { defineCheck, some } from '../../check.ts';

export const freshness = defineCheck({
  name: 'freshness',
  meaning: 'Every node hears of changes by other nodes in time.',
  severity: 'problem',
  needs: ['nodes', 'config'],
  find({ nodes, config }) {
    const late = nodes.filter(
      ({ isGone, freshnessAgeMs }) => !isGone && freshnessAgeMs !== null && freshnessAgeMs > config.staleMax,
    );
    if (late.length === 0) return null;
    const named = late.map(({ location, freshnessAgeMs }) => `${location} (${freshnessAgeMs} ms)`);
    return {
      text: `Too long without news from the database, and therefore answering 503: ${some(named)}.`,
      fix: 'Check the network between the node and the database. If a round trip takes that long, raise KEYSTILE_STALE_MAX.',
      command: 'keystile nodes',
    };
  },
});
