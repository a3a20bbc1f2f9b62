import { EXIT } from '../../serve/exitCodes.ts';
import { GONE_AFTER_MS, type NodeRecord } from '../../storage/postgres/freshness/nodes.ts';
import type { Command } from '../command.ts';
import { openNode } from '../openDatabase.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, table } from '../output/show.ts';

export const nodes: Command = {
  name: 'nodes',
  summary: 'List the nodes that share the database (KEYSTILE_DATABASE_URL).',
  operands: [],
  flags: {},
  examples: ['keystile nodes', 'keystile nodes --json'],
  async run({ io, flags, isJson }) {
    const { config } = await readSettings(io, flags);
    if (config.databaseUrl === null) {
      const embedded = 'The embedded database has one node. To run several nodes, set KEYSTILE_DATABASE_URL.\n';
      io.out(isJson ? jsonLine({ nodes: [] }) : embedded);
      return EXIT.OK;
    }
    const node = await openNode(config, config.databaseUrl);
    try {
      const { nowMs, nodes: found } = await node.storage.listNodes();
      const shown = found.map((each) => ({ ...each, isGone: nowMs - each.seenAtMs > GONE_AFTER_MS }));
      io.out(isJson ? jsonLine({ nodes: shown }) : nodeTable(shown, nowMs));
      return EXIT.OK;
    } finally {
      await node.close();
    }
  },
};

function nodeTable(found: readonly (NodeRecord & { isGone: boolean })[], nowMs: number): string {
  const rows = found.map((node) => [
    node.location,
    node.id,
    node.version,
    seconds(nowMs - node.startedAtMs),
    node.isGone ? `${seconds(nowMs - node.seenAtMs)} ago, gone` : `${seconds(nowMs - node.seenAtMs)} ago`,
    node.syncLagMs === null ? 'never' : `${node.syncLagMs} ms`,
    node.freshnessAgeMs === null ? 'unknown' : `${node.freshnessAgeMs} ms`,
    `${node.clockOffsetMs} ms`,
  ]);
  return table(['LOCATION', 'NODE', 'VERSION', 'UP', 'SEEN', 'SYNC LAG', 'CACHE AGE', 'CLOCK'], rows);
}

function seconds(milliseconds: number): string {
  return `${Math.max(0, Math.round(milliseconds / 1000))} s`;
}
