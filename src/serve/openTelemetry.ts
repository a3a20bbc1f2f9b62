import { hostname } from 'node:os';

import { locationOf } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import type { Log } from '../log.ts';
import { wallClockMs } from '../bunPlatform.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { VERSION } from '../version.ts';
import { CannotStart } from './exit.ts';

/** Loaded only if the configuration names a collector: the libraries are larger than the rest of the program. */
const LOAD_TELEMETRY = () => import('../telemetry/telemetry.ts');

const NOT_INSTALLED = 'needs the packages of OpenTelemetry, and they are not installed';

/**
 * Sends traces and metrics, as configured. Null: there is no collector. Without the libraries a start is refused, unless only the standard
 * variable names a collector: that may be meant for other programs.
 */
export async function openTelemetry(
  config: Config,
  log: Log,
  load: () => Promise<{ readonly Telemetry: typeof Telemetry }> = LOAD_TELEMETRY,
): Promise<Telemetry | null> {
  const { otlpEndpoint, origins } = config;
  if (otlpEndpoint === null) return null;
  const loaded = await load().catch((error: unknown) => {
    if (!/Cannot find (?:package|module)/.test(String(error))) throw error;
    if (origins.otlpEndpoint === 'standard') return null;
    throw new CannotStart(
      `KEYSTILE_OTLP_ENDPOINT ${NOT_INSTALLED}. Run npm install with optional packages, or remove the setting.`,
    );
  });
  if (loaded === null) {
    log.warn(
      `OTEL_EXPORTER_OTLP_ENDPOINT ${NOT_INSTALLED}: nothing is sent. Run npm install with optional packages, or set OTEL_SDK_DISABLED=true.`,
    );
    return null;
  }
  return new loaded.Telemetry({
    endpoint: otlpEndpoint,
    headers: config.otlpHeaders ?? {},
    serviceName: config.otlpServiceName,
    intervalMs: config.otlpInterval,
    traceRatio: config.otlpTraceRatio,
    version: VERSION,
    instance: `${hostname()}:${process.pid}`,
    location: locationOf(config),
    log,
    nowMs: wallClockMs,
    rest: (milliseconds) => Bun.sleep(milliseconds),
  });
}
