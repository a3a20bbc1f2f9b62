import { keystile, type Ran, SILENT_PORT } from '../cli/cliRun.ts';
import { ROOT_KEY } from '../server.ts';

/** Runs a command on a data folder that no server owns: the command opens the database in this process, as a start does. */
export function offline(data: string, words: readonly string[], settings: Record<string, string> = {}): Promise<Ran> {
  const environment = {
    KEYSTILE_DATA: data,
    KEYSTILE_PORT: SILENT_PORT,
    KEYSTILE_METRICS_PORT: '0',
    KEYSTILE_ROOT_KEY: ROOT_KEY,
    ...settings,
  };
  return keystile(words, { environment });
}

/** The credits of a key in a data folder that no server owns. */
export async function remainingIn(data: string, keyId: string, settings: Record<string, string> = {}): Promise<number> {
  const { code, out, err } = await offline(data, ['key', 'get', keyId, '--json'], settings);
  if (code !== 0) throw new Error(`key get ended with ${code}: ${err}`);
  return (JSON.parse(out) as { remaining: number }).remaining;
}
