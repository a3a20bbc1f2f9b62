import { defineCheck, lasting, some } from '../../check.ts';

/** Exchanges are four a second by default; this many in a row have failed then. */
const LATE_EXCHANGES = 40;

export const localCounts = defineCheck({
  name: 'local-counts',
  meaning: 'The nodes exchange the counts of local limits.',
  severity: 'problem',
  needs: ['nodes', 'config'],
  find({ nodes, config }) {
    const lateMs = config.syncInterval * LATE_EXCHANGES;
    const late = nodes.filter(({ isGone, syncLagMs }) => !isGone && syncLagMs !== null && syncLagMs > lateMs);
    if (late.length === 0) return null;
    const named = late.map(({ location, syncLagMs }) => `${location} (${lasting(syncLagMs ?? 0)} ago)`);
    return {
      text: `The counts of local limits were last exchanged long ago by ${some(named)}. Until then each node admits up to the whole limit by itself.`,
      fix: 'Check the load of the database and the network to it. Limits that must never be exceeded can be strict ("async": false).',
      command: 'keystile nodes',
    };
  },
});
