import { GONE_AFTER_MS } from '../../core/health.ts';
import { repeatable } from '../../core/errors.ts';
import { EXIT } from '../../serve/exit.ts';
import { failed } from '../cliError.ts';
import type { Command } from '../command.ts';
import type { ListedNode } from '../inProcess.ts';
import { LOAD } from '../load.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, table } from '../output/print.ts';

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

export const nodesForget: Command = {
  name: 'nodes forget',
  dataFlags: ['database-url'],
  summary: 'Remove a node that is not coming back from the list of nodes.',
  description: `The status then no longer reports it. A node that was seen within the last ${GONE_AFTER_MS / 1000} seconds is refused. A node that comes back is listed again.`,
  operands: ['NODE'],
  operandMeaning: 'The id of the node, as keystile nodes shows it.',
  flags: {},
  examples: ['keystile nodes forget node_1Jm8ZtYh4mRr6GjK8uTx3S'],
  async run({ io, flags, operands: [id = ''], isJson }) {
    const { config } = await readSettings(io, flags);
    if (config.databaseUrl === null)
      throw failed(
        'The embedded database has one node, the service itself. For nodes on PostgreSQL, set KEYSTILE_DATABASE_URL.',
      );
    const { forgetNode } = await LOAD.inProcess();
    const outcome = await forgetNode(config, config.databaseUrl, id);
    if (outcome === 'unknown')
      throw failed(
        `There is no node ${repeatable(id)} in the list. Nothing was changed. keystile nodes shows the list.`,
      );
    if (outcome === 'alive')
      throw failed(
        `The node ${repeatable(id)} was seen within the last ${GONE_AFTER_MS / 1000} seconds. Nothing was changed. ` +
          'Stop it: a node that stops leaves the list by itself.',
      );
    io.out(isJson ? jsonLine({ forgotten: id }) : 'forgotten\n');
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
