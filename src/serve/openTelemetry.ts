import { hostname } from 'node:os';

import { locationOf } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import type { Log } from '../log.ts';
import { wallClockMs } from '../system.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { VERSION } from '../version.ts';
import { CannotStart } from './cannotStart.ts';

/** Loaded only where the configuration names a collector: the libraries are larger than the rest of the program. */
const LOAD_TELEMETRY = () => import('../telemetry/telemetry.ts');

/** Tracing and the sending of metrics, as configured; null: there is no collector. Refuses to start without the libraries. */
export async function openTelemetry(
  config: Config,
  log: Log,
  load: () => Promise<{ readonly Telemetry: typeof Telemetry }> = LOAD_TELEMETRY,
): Promise<Telemetry | null> {
  const { otlpEndpoint } = config;
  if (otlpEndpoint === null) return null;
  const { Telemetry: Loaded } = await load().catch((error: unknown) => {
    if (!/Cannot find (?:package|module)/.test(String(error))) throw error;
    throw new CannotStart(
      'KEYSTILE_OTLP_ENDPOINT needs the packages of OpenTelemetry, and they are not installed. Run npm install with optional packages, or remove the setting.',
    );
  });
  return new Loaded({
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
