import type { Config } from '../config/variables.ts';
import { AppError } from '../core/errors.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../storage/port/storage.ts';
import { AddressError } from '../core/databaseUrl.ts';
import { WrongServer } from '../storage/postgres/connection/wrongServer.ts';
import { FolderError } from '../storage/sqlite/file/dataFolder.ts';
import { CannotStart } from './cannotStart.ts';
import type { ListeningApi } from './listen.ts';
import type { OpenStorage } from './openStorage.ts';
import { freePortAfter } from './tryPort.ts';

/** Listens, or tells the operator which port to use instead. */
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
