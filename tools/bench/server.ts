import { hostname } from 'node:os';

import { compose } from '../../src/compose.ts';
import { readConfig } from '../../src/config/read.ts';
import { engineTasks } from '../../src/engine/engineTasks.ts';
import { Log } from '../../src/log.ts';
import { Background } from '../../src/serve/background.ts';
import { listenControl, placeControl } from '../../src/serve/openStorage.ts';
import { listenApi, listenMetrics } from '../../src/serve/listen.ts';
import { DataFolder } from '../../src/storage/sqlite/file/dataFolder.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../../src/bunPlatform.ts';
import { readOrder, reportReady } from './child.ts';
import { noteCountingCost } from './rows/countingCost.ts';

export interface ServerOrder {
  readonly folder: string;
  readonly addedFlushMs: number;
  /** Absent: the default of the service. */
  readonly analytics?: boolean;
  /** Further settings, as flags. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The file for the cost of counting. When given, counting is switched on and off all the time. */
  readonly costFile?: string;
}

/** Entry of a process: what `serve` runs, on free ports, with an optional delay of every flush. */

const order = readOrder() as ServerOrder;
const { config, problems } = readConfig({
  environment: {},
  flags: {
    data: order.folder,
    port: '0',
    metricsPort: '0',
    ...order.flags,
    ...(order.analytics === undefined ? {} : { analytics: order.analytics ? 'on' : 'off' }),
  },
  readFile: () => '',
});
if (config === null) throw new Error(problems.join(' '));

const level = order.flags?.['logLevel'] === 'error' ? 'error' : 'warn';
const log = new Log({ level, format: 'text', nowMs: wallClockMs, write: (line) => console.error(line) });
const control = placeControl(order.folder);
const startedAt = new Date(wallClockMs()).toISOString();
const digester = new Digester(config.pepper);
const { service } = await compose({
  config,
  folder: DataFolder.own(order.folder, {
    pid: process.pid,
    host: hostname(),
    startedAt,
    control: control.path,
    url: null,
  }),
  system: realSystem(digester),
  digester,
  log,
  monotonicMs,
  onBroken: (error) => {
    console.error(error);
    process.exit(1);
  },
  addedFlushMs: order.addedFlushMs,
});
const api = listenApi(service);
listenMetrics(service, () => ({
  cluster: null,
  walBytes: null,
  connections: api.connections(),
  connectionsRefused: api.refusals(),
}));
listenControl(service.engine, control);
const { tasks } = engineTasks({
  engine: service.engine,
  syncIntervalMs: config.syncInterval,
  log,
  wallClockMs,
  monotonicMs,
});
new Background({ tasks, log, monotonicMs, random: Math.random, spreads: false }).start();
if (order.costFile !== undefined) noteCountingCost(service, order.costFile);
reportReady(api.port);
