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

/** Hides user and password of a URL. */
function withoutPassword(text: string): string {
  return text.replace(/^(\w+:\/\/)[^/@]+@/, '$1***@');
}
