import { composeNode } from '../../src/compose.ts';
import { readConfig } from '../../src/config/read.ts';
import { engineTasks } from '../../src/engine/engineTasks.ts';
import { Log } from '../../src/log.ts';
import { Background } from '../../src/serve/background.ts';
import { listenApi, listenMetrics } from '../../src/serve/listen.ts';
import { watchNode } from '../../src/serve/openStorage.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../../src/bunPlatform.ts';
import { readOrder, reportReady } from './child.ts';

export interface NodeOrder {
  readonly databaseUrl: string;
}

/** Entry of a process: what `serve` runs on PostgreSQL, on free ports. */

const { databaseUrl } = readOrder() as NodeOrder;
const { config, problems } = readConfig({
  environment: {},
  flags: { port: '0', metricsPort: '0', databaseUrl },
  readFile: () => '',
});
if (config === null) throw new Error(problems.join(' '));

const log = new Log({ level: 'warn', format: 'text', nowMs: wallClockMs, write: (line) => console.error(line) });
const digester = new Digester(config.pepper);
const { service, storage } = await composeNode({
  config,
  digester,
  system: realSystem(digester),
  log,
  monotonicMs,
  databaseUrl,
  location: 'bench',
});
const api = listenApi(service);
const ofEngine = engineTasks({
  engine: service.engine,
  syncIntervalMs: config.syncInterval,
  log,
  wallClockMs,
  monotonicMs,
});
const ofStorage = watchNode(storage, log, ofEngine.syncLagMs);
listenMetrics(service, () => ({
  ...ofStorage.gauges(),
  connections: api.connections(),
  connectionsRefused: api.refusals(),
}));
const tasks = [...ofEngine.tasks, ...ofStorage.tasks];
new Background({ tasks, log, monotonicMs, random: Math.random, spreads: true }).start();
reportReady(api.port);
