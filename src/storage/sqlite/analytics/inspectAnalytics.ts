import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { FolderError } from '../file/dataFolder.ts';
import { openUnchanged } from '../file/inspectFolder.ts';
import { isDamage, toWriteFailure } from '../file/writeFailure.ts';
import { readAnalyticsVersion } from './analyticsFile.ts';

/** Why a start refuses analytics.db of this folder, and what to do; null = it does not. Changes no file. */
export function analyticsRefusal(folder: string): { readonly text: string; readonly isDamaged: boolean } | null {
  const path = join(folder, 'analytics.db');
  // A start makes a new one.
  if (!existsSync(path)) return null;
  try {
    using db = openUnchanged(path);
    readAnalyticsVersion(db, path);
    return null;
  } catch (error) {
    if (error instanceof FolderError) return { text: error.message, isDamaged: false };
    // Such as a log that only a start can read.
    return isDamage(error) ? { text: unopened(path, error).message, isDamaged: true } : null;
  }
}

/** Of a file that cannot be opened. */
export function unopened(path: string, error: unknown): FolderError {
  const { kind, message } = toWriteFailure(error);
  if (kind === 'full') return new FolderError(`The analytics in ${path} cannot be opened (${message}).`, true);
  return new FolderError(
    `The analytics in ${path} cannot be opened (${message}). Move the file away to begin without counts.`,
  );
}
