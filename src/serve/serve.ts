import { isatty } from 'node:tty';

import type { Composed } from '../compose.ts';
import { exposures, showConfig } from '../config/describe.ts';
import { type Config, type Setting, VARIABLES } from '../config/variables.ts';
import { AddressError } from '../core/databaseUrl.ts';
import { AppError } from '../core/errors.ts';
import { localUrl } from '../basics/localUrl.ts';
import { engineTasks } from '../engine/engineTasks.ts';
import { isDashboardOn } from '../http/authentication.ts';
import type { ConnectionBounds } from '../http/front/frontLimits.ts';
import { Log, type LogFields } from '../log.ts';
import type { RootKeyRecord } from '../model/access.ts';
import { Background } from './background.ts';
import { banner, type BannerFacts } from './banner.ts';
import { CannotStart, EXIT } from './exit.ts';
import { Demo } from './demo.ts';
import { makeFirstRootKey, requireDestination } from './rootKeys.ts';
import { boundedHealth, type OuterGauges, processGauges, readGauges } from './gauges.ts';
import { listenApi, type Listening, type ListeningApi, listenMetrics } from './listen.ts';
import { fitConnections, limitFor, readOpenFileLimit, reservedFiles, smallestLimit } from './openFiles.ts';
import { type OpenStorage, openStorage } from './openStorage.ts';
import { openTelemetry } from './openTelemetry.ts';
import { stopDelayOf, StopSignals } from './stopSignals.ts';
import type { CertificateFiles } from './tls/certificateFiles.ts';
import { freePortAfter } from './tryPort.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../storage/port/storage.ts';
import type { Task } from '../storage/port/tasks.ts';
import { WrongServer } from '../storage/postgres/connection/wrongServer.ts';
import { FolderError } from '../storage/sqlite/file/dataFolder.ts';
import { monotonicMs, wallClockMs } from '../bunPlatform.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { VERSION } from '../version.ts';

export interface ServeOutput {
  /** Prints the banner, which a person reads. The log goes elsewhere. */
  print(text: string): void;
  /** Writes one line of the log. */
  logLine(line: string): void;
  /** The log is written to a terminal. */
  readonly isTerminal: boolean;
  /** The banner is printed to a terminal: a person sees it, and nothing keeps it. */
  readonly showsSecrets: boolean;
  /** The settings as they are now, for SIGHUP. Throws what is wrong with them. */
  readConfig(): Config;
  /** How the user can call the command line, such as `npm run -s keystile --`. */
  readonly program: string;
}

/** Runs the service until a signal stops it. Returns the exit code. */
export async function serve(config: Config, output: ServeOutput, isDemo = false): Promise<number> {
  const stopDelayMs = stopDelayOf(config);
  const stop = new StopSignals({
    delayMs: stopDelayMs,
    monotonicMs,
    after: (milliseconds, then) => void setTimeout(then, milliseconds),
  });
  const log = new Log({
    level: config.logLevel,
    format: config.logFormat ?? (output.isTerminal ? 'text' : 'json'),
    nowMs: wallClockMs,
    write: (line) => output.logLine(line),
  });
  // A JSON log is read by machines and starts with the configuration. On a terminal, the banner stays the last thing shown.
  log[config.logFormat === 'json' ? 'info' : 'debug']('configuration', showConfig(config));
  const isForPerson = output.isTerminal && config.logFormat === null;
  const note: LifeLog = (message, fields) =>
    log[isForPerson ? 'debug' : 'info'](message, { ...fields, version: VERSION });
  const end = (reason: string): void => {
    if (!stop.signal()) return;
    if (stopDelayMs === 0) return note('the service stops', { reason });
    const fields = { reason, milliseconds: stopDelayMs, version: VERSION };
    log.info('the service was told to stop and keeps answering: a second signal ends the delay', fields);
  };
  // Signal handlers come before the banner: a person who has seen the banner may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal));
  const size = connectionsThatFit(config, log);
  const certificates =
    config.tlsCert === null ? null : (await import('./openCertificates.ts')).openCertificates(config, log);
  const hasLostTerminal = watchTerminal();
  process.on('SIGHUP', () =>
    hasLostTerminal() ? end('SIGHUP') : reload({ config, readConfig: () => output.readConfig(), certificates, log }),
  );
  const fail = (message: string, exitCode: number, error: unknown): void => {
    const reason = error instanceof Error ? (exitCode === EXIT.FAILED && error.stack) || error.message : String(error);
    log.error(`${message}: the service stops`, { reason, exitCode, version: VERSION });
    stop.fail(exitCode);
  };
  const onBroken = (error: Error): void =>
    error instanceof WrongServer
      ? fail('the database was migrated to a version that this program does not know', EXIT.CANNOT_START, error)
      : fail('the database has failed', EXIT.DISK_FAILED, error);
  const telemetry = config.otlpEndpoint === null ? null : await openTelemetry(config, log);
  const running = await start({ config, output, log, note, size, certificates, telemetry, isDemo }, onBroken);
  // What nobody has caught leaves the service in a state that nobody knows.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => fail('there is a bug in Keystile', EXIT.FAILED, error));
  const code = await stop.followed(() => running.leave());
  // Nothing more is saved after a disk failure, or to a database that this program does not know. All answered spends are on disk, and a
  // second flush could wrongly report success.
  if (code === EXIT.OK) await running.stop();
  log.close();
  if (code === EXIT.OK) note('the service has stopped', { exitCode: code });
  return code;
}

async function start(context: Omit<StartContext, 'storage'>, onBroken: (error: Error) => void): Promise<Running> {
  const storage = await openStorage(context, onBroken).catch((error: unknown) => {
    throw toCannotStart(error);
  });
  try {
    return await startOn({ ...context, storage });
  } catch (error) {
    await storage.close();
    throw toCannotStart(error);
  }
}

/** Notes the start and the stop, which a person at a terminal sees anyway. */
type LifeLog = (message: string, fields: LogFields) => void;

interface Running {
  /** It is going to stop: it says so, and goes on answering. */
  leave(): void;
  stop(): Promise<void>;
}

interface StartContext {
  readonly config: Config;
  readonly output: ServeOutput;
  readonly log: Log;
  readonly note: LifeLog;
  readonly size: FittingConnections;
  readonly certificates: CertificateFiles | null;
  readonly telemetry: Telemetry | null;
  readonly storage: OpenStorage;
  readonly isDemo: boolean;
}

async function startOn(context: StartContext): Promise<Running> {
  const { config, output, log, note, size, certificates, telemetry, storage, isDemo } = context;
  const { cluster } = storage;
  const { service } = storage.composed;
  const startedAtMs = wallClockMs();
  const exclusively = <T>(work: () => Promise<T>): Promise<T> =>
    cluster === null ? work() : cluster.exclusively(work);
  const { rootKey } = config;
  if (rootKey !== null) await exclusively(() => service.engine.rootKeys.adopt(rootKey));
  const destination = { isShown: output.showsSecrets, folder: cluster === null ? config.data : null };
  await requireDestination(service.engine.rootKeys, destination);
  // The node is in the list of nodes before it answers its first request.
  await cluster?.sayHello(null);
  const api = orPortTaken(config, () => listenApi(service, size, certificates));
  const url = localUrl(config.host, api.port, certificates !== null);
  orCannotListen(storage, url);
  const ofEngine = engineTasks({
    engine: service.engine,
    syncIntervalMs: config.syncInterval,
    log,
    wallClockMs,
    monotonicMs,
  });
  const ofStorage = storage.watch(ofEngine.syncLagMs);
  const background = new Background({
    tasks: [
      ...ofEngine.tasks,
      ...ofStorage.tasks,
      ...(certificates === null ? [] : [certificates.task]),
      heldBackLines(log),
    ],
    log,
    monotonicMs,
    random: () => (service.engine.system.randomBytes(1)[0] ?? 0) / 256,
    spreads: service.engine.storage.localCounts.isShared,
  });
  const health = boundedHealth(() => storage.composed.readHealth());
  const gauges = async (): Promise<OuterGauges> => ({
    ...ofStorage.gauges(),
    health: await health(),
    taskFailures: background.failedRuns,
    process: processGauges(startedAtMs),
    connections: api.connections(),
    connectionsRefused: api.refusals(),
    certificateExpiresAtMs: api.certificateExpiresAtMs(),
  });
  const metrics = tryMetrics(service, gauges, log);
  telemetry?.sendMetrics(async () => service.metrics.families(await readGauges(service, gauges)));
  // Created right before it is printed: the secret of a root key that is never shown would be lost.
  const newRootKey = await exclusively(() => makeFirstRootKey(service.engine.rootKeys, destination));
  const rootKeys = await service.engine.rootKeys.list();
  // Background work starts last: a start that fails before this point logs nothing from it.
  background.start();
  printBanner(context, { url, newRootKey, rootKeys, metricsPort: metrics?.port ?? null });
  note('the service has started', { url, data: storage.where, ...(storage.isNew ? { isNew: true } : {}) });
  const demo = isDemo && rootKey !== null ? await Demo.start({ service, rootKey, url, program: output.program }) : null;
  if (demo !== null) output.print(demo.describe());
  return {
    leave: () => void (service.lifetime.isStopping = true),
    async stop() {
      demo?.stop();
      await api.stop();
      await storage.stopCommandLine();
      await metrics?.stop();
      await telemetry?.stop();
      await background.stop();
      await storage.close();
    },
  };
}

interface Started {
  readonly url: string;
  readonly newRootKey: BannerFacts['newRootKey'];
  readonly rootKeys: readonly RootKeyRecord[];
  readonly metricsPort: number | null;
}

function printBanner(
  { config, output, log, size, certificates, storage, isDemo }: StartContext,
  { url, newRootKey, rootKeys, metricsPort }: Started,
): void {
  const { service } = storage.composed;
  const warnings = exposures(config);
  for (const warning of warnings) log.warn(warning);
  output.print(
    banner({
      config,
      // A browser accepts the certificate under the name that it holds.
      url: certificates === null ? url : (config.publicUrl ?? url),
      where: `${storage.where}${storage.isNew ? ' (new)' : ''}`,
      restored: storage.restored,
      demoRootKey: isDemo ? config.rootKey : null,
      metrics: metricsPort === null ? null : `${config.metricsHost}:${metricsPort}`,
      newRootKey,
      warnings,
      note: size.note,
      dashboard: dashboardLink(service, rootKeys, output.showsSecrets),
      program: output.program,
      activeRootKeys: rootKeys.filter(({ revokedAtMs }) => revokedAtMs === null).length,
    }),
  );
}

const LOG_EVERY_MS = 1000;

function heldBackLines(log: Log): Task {
  return { name: 'writing limited log lines', everyMs: LOG_EVERY_MS, run: async () => log.writeHeldBack() };
}

/** Where the dashboard is. On a terminal, with a token that signs the person in once who reads it. */
function dashboardLink(
  { engine, config }: Composed['service'],
  rootKeys: readonly RootKeyRecord[],
  showsSecrets: boolean,
): BannerFacts['dashboard'] {
  if (!isDashboardOn(config)) return null;
  const nowMs = engine.storage.ledger.nowMs();
  const whole = rootKeys.find(
    ({ rights, revokedAtMs, expiresAtMs }) =>
      rights.includes('*') && revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs),
  );
  return { token: showsSecrets && whole !== undefined ? engine.sessions.links.create(whole.id) : null };
}

/** The service also runs without metrics, when another program uses their port. */
function tryMetrics(service: Composed['service'], gauges: () => Promise<OuterGauges>, log: Log): Listening | null {
  try {
    return listenMetrics(service, gauges);
  } catch (error) {
    const { metricsHost, metricsPort } = service.config;
    const reason = (error as { code?: string }).code ?? String(error);
    log.warn('the metrics are off: their address cannot be used; set KEYSTILE_METRICS_PORT to a free port', {
      address: `${metricsHost}:${metricsPort}`,
      reason,
    });
    return null;
  }
}

const STREAMS = [0, 1, 2];

export interface ReloadContext {
  /** The settings of the start. */
  readonly config: Config;
  /** The settings as they are now. Throws what is wrong with them. */
  readonly readConfig: () => Config;
  readonly certificates: CertificateFiles | null;
  readonly log: Log;
}

/**
 * Does what SIGHUP asks for: reads the files of the certificate and the settings again. Of the settings, a running service can safely
 * change only the log level. The log names the other changed settings, because they need a restart.
 */
export function reload({ config, readConfig, certificates, log }: ReloadContext): void {
  certificates?.look();
  let now: Config;
  try {
    now = readConfig();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return log.error('the settings cannot be read again; the previous ones stay in use', { reason });
  }
  log.level = now.logLevel;
  const waiting = changed(config, now).filter((setting) => setting !== 'logLevel');
  const restartFor = waiting.map((setting) => VARIABLES[setting].name).join(' ');
  log.info('the settings were read again', {
    logLevel: now.logLevel,
    ...(restartFor === '' ? {} : { restartFor }),
  });
}

function changed(before: Config, now: Config): Setting[] {
  const settings = Object.keys(VARIABLES) as Setting[];
  return settings.filter((setting) => !Bun.deepEquals(before[setting], now[setting]));
}

/** Returns a function that says whether the terminal that the process was started on has closed: that sends SIGHUP too. */
export function watchTerminal(): () => boolean {
  const wasOnTerminal = STREAMS.some((stream) => isatty(stream));
  return () => wasOnTerminal && !STREAMS.some((stream) => isatty(stream));
}

/** Listens, or fails with a message that names another port. */
export function orPortTaken(config: Config, listen: () => ListeningApi): ListeningApi {
  try {
    return listen();
  } catch (error) {
    const code = (error as { code?: string }).code ?? '';
    if (code === 'EADDRINUSE') {
      const free = freePortAfter(config.host, config.port);
      throw new CannotStart(`Port ${config.port} is in use. Set KEYSTILE_PORT to another one, such as ${free}.`);
    }
    if (code === 'EACCES') {
      throw new CannotStart(
        `This user is not allowed to listen on port ${config.port}. Set KEYSTILE_PORT to one from 1024 on, such as 7878.`,
      );
    }
    throw new CannotStart(
      `Keystile cannot listen on ${config.host}:${config.port} (${code || String(error)}). Check KEYSTILE_HOST and KEYSTILE_PORT.`,
    );
  }
}

export function orCannotListen(storage: Pick<OpenStorage, 'control' | 'serveCommandLine'>, url: string): void {
  try {
    storage.serveCommandLine(url);
  } catch (error) {
    if (error instanceof FolderError) throw error;
    const code = (error as { code?: string }).code ?? String(error);
    throw new CannotStart(
      `The control socket ${storage.control} cannot be created (${code}). Check that the path is free and can be written to.`,
    );
  }
}

/** Errors whose message tells the operator why the service cannot start. */
const START_FAILURES = [FolderError, AppError, AddressError, WrongServer, StorageUnavailable, StorageOutcomeUnknown];

export function toCannotStart(error: unknown): unknown {
  const isForOperator = START_FAILURES.some((kind) => error instanceof kind);
  if (!isForOperator) return error;
  const isAway = error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown;
  return new CannotStart((error as Error).message, isAway || (error instanceof FolderError && error.isTemporary));
}

export interface FittingConnections extends ConnectionBounds {
  /** What the banner says about the limit of open files. Null: nothing, because the limit is high enough or the log has a warning. */
  readonly note: string | null;
}

/**
 * How many client connections fit under the process's limit of open files. A start is refused if too few fit. There is a warning only if
 * the setting was given: most machines allow fewer files than the default needs, and few need so many connections.
 */
export function connectionsThatFit(config: Config, log: Log): FittingConnections {
  const { maxConnections: connections, databasePool, origins } = config;
  const limit = readOpenFileLimit();
  const reserved = reservedFiles(databasePool);
  const size = fitConnections({ limit, reserved, connections });
  if (size === null) {
    const least = smallestLimit({ reserved, connections });
    throw new CannotStart(
      `Keystile needs a limit of at least ${least} open files, but this process has a limit of ${limit}. Raise it with "ulimit -n ${least}", or with LimitNOFILE=${least} under systemd.`,
    );
  }
  const isShort = size.connections < connections;
  const isAsked = origins.maxConnections !== 'default';
  if (isShort && isAsked) {
    log.warn(
      'the limit of open files is too low for KEYSTILE_MAX_CONNECTIONS: fewer connections are accepted; raise the limit (ulimit -n, or LimitNOFILE under systemd) or lower the setting',
      { limit, needed: limitFor(connections, reserved), maxConnections: connections, accepted: size.connections },
    );
  }
  const fewer = `At most ${size.connections} connections at a time: this process may have ${limit} files open.`;
  return { ...size, note: isShort && !isAsked ? fewer : null };
}
