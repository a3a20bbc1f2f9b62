import { isatty } from 'node:tty';

import { type Config, type Setting, VARIABLES } from '../config/variables.ts';
import type { Log } from '../log.ts';
import type { CertificateFiles } from './tls/certificateFiles.ts';

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
 * What SIGHUP asks for: the files of the certificate are read now, and the settings again. Of those, the level of the log is the one that a
 * running service can change without harm; the log names the others that were changed, because they need a restart.
 */
export function reload({ config, readConfig, certificates, log }: ReloadContext): void {
  certificates?.look();
  let now: Config;
  try {
    now = readConfig();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return log.error('the settings cannot be read again; those of before stay in use', { reason });
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

/** Answers later whether the terminal that the process was started on has gone. Its end sends SIGHUP too. */
export function watchTerminal(): () => boolean {
  const wasOnTerminal = STREAMS.some((stream) => isatty(stream));
  return () => wasOnTerminal && !STREAMS.some((stream) => isatty(stream));
}
