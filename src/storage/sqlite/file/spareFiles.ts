import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

import { toWriteFailure } from './writeFailure.ts';

/**
 * Fails with a WriteFailure when fewer files than this can be opened now. Asked before a thread is started: the runtime ends the whole
 * process when it cannot open the event loop of a thread.
 */
export function requireSpareFiles(count: number): void {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'));
  } catch (error) {
    throw toWriteFailure(error);
  } finally {
    for (const file of opened) closeSync(file);
  }
}
