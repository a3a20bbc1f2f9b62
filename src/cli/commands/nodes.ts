import { EXIT } from '../../serve/exitCodes.ts';
import type { Command } from '../command.ts';
import type { ListedNode } from '../inProcess.ts';
import { LOAD } from '../load.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, table } from '../output/show.ts';

export const nodes: Command = {
  name: 'nodes',
  dataFlags: ['database-url'],
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
    const { listNodes } = await LOAD.inProcess();
    const listed = await listNodes(config, config.databaseUrl);
    io.out(isJson ? jsonLine({ nodes: listed.nodes }) : nodeTable(listed.nodes, listed.nowMs));
    return EXIT.OK;
  },
};

function nodeTable(found: readonly ListedNode[], nowMs: number): string {
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
