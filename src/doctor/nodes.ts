import { defineCheck, lasting, some } from './check.ts';

const WRONG_BY_MS = 1_000;

export const clocks = defineCheck({
  name: 'clocks',
  meaning: 'The clock of every node agrees with that of the database.',
  severity: 'advice',
  needs: ['nodes'],
  find({ nodes }) {
    const wrong = nodes.filter(({ isGone, clockOffsetMs }) => !isGone && Math.abs(clockOffsetMs) > WRONG_BY_MS);
    if (wrong.length === 0) return null;
    const named = wrong.map(
      ({ location, clockOffsetMs }) =>
        `${location} (${Math.abs(clockOffsetMs)} ms ${clockOffsetMs > 0 ? 'behind' : 'ahead'})`,
    );
    return {
      text: `The clock differs from that of the database: ${some(named)}. Keys and limits follow the database; logs and metrics of these nodes have wrong times.`,
      fix: 'Let NTP set the clocks of the nodes and of the database.',
      command: 'sudo timedatectl set-ntp true',
    };
  },
});

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
      text: `These nodes have heard nothing from the database for too long, so they answer 503: ${some(named)}.`,
      fix: 'Check the network between the node and the database. If a round trip takes that long, raise KEYSTILE_STALE_MAX.',
      command: 'keystile nodes',
    };
  },
});

export const goneNodes = defineCheck({
  name: 'nodes',
  meaning: 'Every node that was started was seen within the last seconds.',
  severity: 'problem',
  needs: ['nodes', 'nowMs'],
  find({ nodes, nowMs }) {
    const gone = nodes.filter(({ isGone }) => isGone);
    if (gone.length === 0) return null;
    const named = gone.map(
      ({ id, location, seenAtMs }) => `${location} (${id}, last seen ${lasting(nowMs - seenAtMs)} ago)`,
    );
    return {
      text: `These nodes are no longer seen, although nobody stopped them: ${some(named)}.`,
      fix: 'Check the log of the node and its connection to the database, and start it again. If it is not coming back, remove it from the list with the command. Otherwise it leaves the list after two days.',
      command: `keystile nodes forget ${gone[0]?.id ?? 'NODE'}`,
    };
  },
});

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
      text: `These nodes last exchanged the counts of local limits long ago: ${some(named)}. Until the next exchange, each node alone admits up to the whole limit.`,
      fix: 'Check the load of the database and the network to it. Limits that must never be exceeded can be strict ("async": false).',
      command: 'keystile nodes',
    };
  },
});

export const versions = defineCheck({
  name: 'versions',
  meaning: 'All nodes run the same version.',
  severity: 'advice',
  needs: ['nodes'],
  find({ nodes }) {
    const running = nodes.filter(({ isGone }) => !isGone);
    const found = [...new Set(running.map(({ version }) => version))].toSorted();
    if (found.length < 2) return null;
    return {
      text: `The nodes run different versions: ${some(found)}.`,
      fix: 'Finish the upgrade: stop the nodes of the older version one by one and start them with the newer one.',
      command: 'keystile nodes',
    };
  },
});
