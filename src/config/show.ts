import type { Kind } from './kinds.ts';
import type { Origin } from './variable.ts';
import { type Config, type Setting, VARIABLES } from './variables.ts';

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

/** The same, each with where it comes from. */
export function showSources(
  config: Config,
  sources: Readonly<Record<Setting, string>>,
): Record<string, { readonly value: string; readonly from: string }> {
  const shown = Object.entries(showConfig(config));
  const fromByName = new Map(SETTINGS.map((setting) => [VARIABLES[setting].name, sources[setting]]));
  return Object.fromEntries(shown.map(([name, value]) => [name, { value, from: fromByName.get(name) ?? 'default' }]));
}

/** A setting in effect, for a person to read. */
export interface ShownSetting {
  readonly name: string;
  /** As a user would write it. Of a secret: whether it is set. */
  readonly value: string;
  /** A standard variable is one of the environment, too. */
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
