import { readConfig } from './read.ts';
import type { Config, Setting } from './variables.ts';

/**
 * What a demo takes from the configuration: how this machine reaches it, and what it writes. All other settings, such as plans, quotas and
 * secrets, are for a real installation. A demo uses their defaults, which its sample data fits.
 */
export const DEMO_TAKES = [
  'host',
  'port',
  'tlsCert',
  'tlsKey',
  'tlsMinVersion',
  'hsts',
  'network',
  'publicUrl',
  'dashboard',
  'location',
  'metricsHost',
  'metricsPort',
  'metricsToken',
  'logLevel',
  'logFormat',
  'corsOrigins',
  'trustedProxies',
  'stopDelay',
  'maxConnections',
  'maxConnectionsPerAddress',
  'webhookAllowPrivate',
] as const satisfies readonly Setting[];

/** The configuration of a demo. The demo adds its own folder and root key. */
export function demoSettings(given: Config): Config {
  const { config } = readConfig({ environment: {}, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('the defaults of the settings contradict each other');
  const taken = (from: object): object =>
    Object.fromEntries(Object.entries(from).filter(([name]) => (DEMO_TAKES as readonly string[]).includes(name)));
  return { ...config, ...taken(given), origins: { ...config.origins, ...taken(given.origins) } };
}
