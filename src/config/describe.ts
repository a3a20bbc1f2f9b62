import type { Kind } from './kinds.ts';
import { type Config, type Origin, type Setting, VARIABLES } from './variables.ts';
import { isLoopback } from '../core/address.ts';

const SETTINGS = Object.keys(VARIABLES) as Setting[];

/** The settings in effect by variable name, with secrets as `***`. */
export function showConfig(config: Config): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const setting of SETTINGS) {
    const value = config[setting] as string | number | boolean | readonly string[] | null;
    if (value === null) continue;
    shown[VARIABLES[setting].name] = 'isSecret' in VARIABLES[setting] ? '***' : withoutPassword(String(value));
  }
  return shown;
}

/** The same, each with its source. */
export function showSources(
  config: Config,
  sources: Readonly<Record<Setting, string>>,
): Record<string, { readonly value: string; readonly from: string }> {
  const shown = Object.entries(showConfig(config));
  const fromByName = new Map(SETTINGS.map((setting) => [VARIABLES[setting].name, sources[setting]]));
  return Object.fromEntries(shown.map(([name, value]) => [name, { value, from: fromByName.get(name) ?? 'default' }]));
}

/** A setting in effect, for a person to read. */
interface ShownSetting {
  readonly name: string;
  /** As a user would write it. For a secret: whether it is set. */
  readonly value: string;
  /** A standard variable counts as `environment`. */
  readonly origin: Exclude<Origin, 'standard'>;
  readonly meaning: string;
}

/** All settings in effect, in the order of the table. */
export function describeConfig(config: Config): ShownSetting[] {
  return SETTINGS.map((setting) => ({
    name: VARIABLES[setting].name,
    value: shownValue(config, setting),
    origin: shownOrigin(config.origins[setting]),
    meaning: VARIABLES[setting].meaning,
  }));
}

function shownOrigin(origin: Origin): ShownSetting['origin'] {
  return origin === 'standard' ? 'environment' : origin;
}

function shownValue(config: Config, setting: Setting): string {
  const value = config[setting] as string | number | boolean | readonly string[] | null;
  if (value === null) return 'not set';
  if ('isSecret' in VARIABLES[setting]) return 'set';
  const kind = VARIABLES[setting].kind as Kind<unknown>;
  return withoutPassword(kind.show?.(value) ?? (Array.isArray(value) ? value.join(', ') : String(value)));
}

/** Hides user and password of a URL. */
function withoutPassword(text: string): string {
  return text.replace(/^(\w+:\/\/)[^/@]+@/, '$1***@');
}

/** Whether nobody can read keys that cross a network, as far as the settings tell. */
export function isEncrypted({ host, tlsCert, network, publicUrl, trustedProxies }: Config): boolean {
  if (isLoopback(host) || tlsCert !== null || network === 'private') return true;
  return publicUrl === null ? trustedProxies !== null : publicUrl.startsWith('https://');
}

/** Whether machines other than this one and trusted ones can verify keys without a root key, as far as the settings tell. */
export function isOpenToAll({ host, network, verifyAuth }: Config): boolean {
  return verifyAuth === 'open' && !isLoopback(host) && network !== 'private';
}

/** The risks of the address that the service listens on, each with what to do. */
export function exposures(config: Config): string[] {
  const { host } = config;
  const found: string[] = [];
  if (!isEncrypted(config)) {
    found.push(
      `The service listens on ${host} without TLS: everyone on the way can read keys and root keys. Set KEYSTILE_TLS_CERT and KEYSTILE_TLS_KEY. Behind a proxy that ends TLS, set KEYSTILE_PUBLIC_URL to its https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.`,
    );
  }
  if (isOpenToAll(config)) {
    found.push(
      `The service listens on ${host}, and verifying needs no root key: everyone who reaches it can try keys and spend their credits. Set KEYSTILE_VERIFY_AUTH=required. If only machines that you trust reach it, set KEYSTILE_NETWORK=private.`,
    );
  }
  return found;
}
