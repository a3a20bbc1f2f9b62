import type { Composed } from '../compose.ts';
import { showConfig } from '../config/show.ts';
import type { Config } from '../config/variables.ts';
import { AppError } from '../core/errors.ts';
import { Log } from '../log.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../storage/port/storage.ts';
import { AddressError } from '../storage/postgres/connection/databaseUrl.ts';
import { WrongServer } from '../storage/postgres/connection/connector.ts';
import { FolderError } from '../storage/sqlite/file/dataFolder.ts';
import { monotonicMs, wallClockMs } from '../system.ts';
import { Background } from './background.ts';
import { banner } from './banner.ts';
import { CannotStart } from './cannotStart.ts';
import { controlPath } from './control.ts';
import { EXIT } from './exitCodes.ts';
import { makeFirstRootKey, requirePlace } from './firstRootKey.ts';
import { type Home, openHome } from './openStorage.ts';
import type { ConnectionBounds } from '../http/front/connectionLimit.ts';
import { listenApi, type Listening, type ListeningApi, listenMetrics } from './listen.ts';
import { measureRoom } from './connectionsThatFit.ts';

export interface ServeOutput {
  /** For a person: the banner. Never the log. */
  print(text: string): void;
  /** One line of the log. */
  logLine(line: string): void;
  /** A person reads the log as it is written. */
  readonly isTerminal: boolean;
  /** What is printed is seen by a person and kept nowhere. */
  readonly showsSecrets: boolean;
}

/** Runs the service until it is told to stop; answers the exit code. */
export async function serve(config: Config, output: ServeOutput): Promise<number> {
  const ended = Promise.withResolvers<number>();
  const log = new Log({
    level: config.logLevel,
    format: config.logFormat ?? (output.isTerminal ? 'text' : 'json'),
    nowMs: wallClockMs,
    write: (line) => output.logLine(line),
  });
  // A log that was asked for as JSON is read by a machine and begins with it; a person has the banner, which nothing follows.
  log[config.logFormat === 'json' ? 'info' : 'debug']('configuration', showConfig(config));
  // Before anything is printed: who has seen the banner may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => ended.resolve(EXIT.OK));
  const room = measureRoom(config, log);
  const onBroken = (error: Error): void => {
    log.error('the database has failed: stopping', { reason: error.message });
    ended.resolve(EXIT.DISK_FAILED);
  };
  const running = await start({ config, output, log, room }, onBroken);
  const code = await ended.promise;
  // After a failed disk nothing is saved: what was answered is there, and a second flush could lie.
  if (code === EXIT.OK) await running.stop();
  return code;
}

async function start(
  parts: Omit<Opening, 'home'>,
  onBroken: (error: Error) => void,
): Promise<{ stop(): Promise<void> }> {
  const home = await openHome(parts.config, parts.log, onBroken).catch((error: unknown) => {
    throw toCannotStart(error);
  });
  try {
    return await open({ ...parts, home });
  } catch (error) {
    await home.close();
    throw toCannotStart(error);
  }
}

interface Opening {
  readonly config: Config;
  readonly output: ServeOutput;
  readonly log: Log;
  readonly room: ConnectionBounds;
  readonly home: Home;
}

async function open({ config, output, log, room, home }: Opening): Promise<{ stop(): Promise<void> }> {
  const { cluster, walBytes } = home;
  const { service } = home.composed;
  const alone = <T>(work: () => Promise<T>): Promise<T> => (cluster === null ? work() : cluster.exclusively(work));
  const { rootKey } = config;
  if (rootKey !== null) await alone(() => service.engine.rootKeys.adopt(rootKey));
  const place = { isShown: output.showsSecrets, folder: cluster === null ? config.data : null };
  await requirePlace(service.engine.rootKeys, place);
  // Before it counts anything: a node that was alone until now tells its local counts.
  await cluster?.sayHello(null);
  const api = orPortTaken(config, () => listenApi(service, room));
  const url = localUrl(config.host, api.port);
  orCannotListen(config, () => home.listening(url));
  const background = new Background({
    engine: service.engine,
    log,
    syncIntervalMs: config.syncInterval,
    wallClockMs,
    monotonicMs,
    random: () => (service.engine.system.randomBytes(1)[0] ?? 0) / 256,
    cluster,
    walBytes,
  });
  const metrics = tryMetrics(service, background, api, log);
  // Only now, right before it is printed: a root key whose secret could not be shown would be lost.
  const newRootKey = await alone(() => makeFirstRootKey(service.engine.rootKeys, place));
  const rootKeys = await service.engine.rootKeys.list();
  // A start that fails until here has nothing behind the requests to say.
  background.start();
  output.print(
    banner({
      config,
      url,
      where: home.where,
      metrics: metrics === null ? null : `${config.metricsHost}:${metrics.port}`,
      newRootKey,
      activeRootKeys: rootKeys.filter(({ revokedAtMs }) => revokedAtMs === null).length,
    }),
  );
  return {
    async stop() {
      await api.stop();
      await home.stopListening();
      await metrics?.stop();
      await background.stop();
      await home.close();
    },
  };
}

/** A taken metrics port is no reason not to serve. */
function tryMetrics(
  service: Composed['service'],
  background: Background,
  api: ListeningApi,
  log: Log,
): Listening | null {
  try {
    return listenMetrics(service, () => ({
      ...background.gauges(),
      connections: api.connections(),
      connectionsRefused: api.refusals(),
    }));
  } catch (error) {
    const { metricsHost, metricsPort } = service.config;
    const reason = (error as { code?: string }).code ?? String(error);
    log.warn('no metrics: their address cannot be taken; set KEYSTILE_METRICS_PORT', {
      address: `${metricsHost}:${metricsPort}`,
      reason,
    });
    return null;
  }
}

function orPortTaken(config: Config, listen: () => ListeningApi): ListeningApi {
  try {
    return listen();
  } catch (error) {
    const code = (error as { code?: string }).code ?? '';
    if (code === 'EADDRINUSE') {
      const free = freePortAfter(config.host, config.port);
      throw new CannotStart(`Port ${config.port} is in use. Try: KEYSTILE_PORT=${free} npm start`);
    }
    if (code === 'EACCES') {
      throw new CannotStart(
        `Port ${config.port} needs more rights than this user has. Try: KEYSTILE_PORT=7878 npm start`,
      );
    }
    throw new CannotStart(
      `The address ${config.host}:${config.port} cannot be listened on (${code || String(error)}).`,
    );
  }
}

/** The next port that could be taken now; 0 (any) when none of the next few can. */
function freePortAfter(host: string, port: number): number {
  for (let candidate = port + 1; candidate <= Math.min(port + 20, 65535); candidate++) {
    try {
      Bun.listen({ hostname: host, port: candidate, socket: { data() {} } }).stop(true);
      return candidate;
    } catch {
      // Taken as well.
    }
  }
  return 0;
}

function orCannotListen(config: Config, listen: () => void): void {
  try {
    listen();
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw new CannotStart(
      `The control socket ${controlPath(config.data)} cannot be made (${code}). Is something else there?`,
    );
  }
}

/** What says by itself, in a sentence, why the start cannot go on. */
const START_FAILURES = [FolderError, AppError, AddressError, WrongServer, StorageUnavailable, StorageOutcomeUnknown];

function toCannotStart(error: unknown): unknown {
  const isForPerson = START_FAILURES.some((kind) => error instanceof kind);
  return isForPerson ? new CannotStart((error as Error).message) : error;
}

/** How a person on this machine reaches the service. */
export function localUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
