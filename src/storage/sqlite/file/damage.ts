import { basename } from 'node:path';

import { type DamageFound, StorageDamaged } from '../../port/storage.ts';
import { toWriteFailure, type WriteFailure } from './writeFailure.ts';

/** The page that says what to do about a damaged file. */
export const DAMAGE_PAGE = 'docs/incidents.md#the-database-is-damaged';

interface DamageOptions {
  readonly databasePath: string;
  readonly analyticsPath: string;
  /** Whether a statement reads analytics.db. None reads both files. */
  readonly readsAnalytics: (sql: string) => boolean;
  /** Called for the first damage of each file. */
  readonly tell: (path: string, reason: string) => void;
}

/**
 * The damage that was found in the files of a data folder. A damaged page stays damaged until the file is replaced, which needs a stopped
 * service. So damage is remembered as long as the process runs, and told once for each file.
 */
export class Damage {
  readonly #options: DamageOptions;
  /** The reason for each damaged file, by its path. */
  readonly #reasons = new Map<string, string>();

  constructor(options: DamageOptions) {
    this.#options = options;
  }

  /** The worst damage: in keystile.db it affects requests, in analytics.db only counts. */
  get found(): DamageFound | null {
    const { databasePath, analyticsPath } = this.#options;
    const ofDatabase = this.#reasons.get(databasePath);
    if (ofDatabase !== undefined) return { text: damagedDatabase(databasePath, ofDatabase), ofCountsOnly: false };
    const ofAnalytics = this.#reasons.get(analyticsPath);
    return ofAnalytics === undefined
      ? null
      : { text: damagedAnalytics(analyticsPath, ofAnalytics), ofCountsOnly: true };
  }

  /** Called after a failed read. For damage, returns the error that tells the caller; returns other failures unchanged. */
  noteRead(error: unknown, sql: string): unknown {
    const { databasePath, analyticsPath, readsAnalytics } = this.#options;
    const path = readsAnalytics(sql) ? analyticsPath : databasePath;
    if (!this.note(path, toWriteFailure(error))) return error;
    return new StorageDamaged(
      `What this request needs is on a damaged page of ${basename(path)}; nothing was done. ` +
        `The operator of the service finds what to do in ${DAMAGE_PAGE}.`,
    );
  }

  /** Remembers the failure if it is damage, and returns whether it is. */
  note(path: string, { kind, message }: WriteFailure): boolean {
    if (kind !== 'damaged') return false;
    if (!this.#reasons.has(path)) this.#options.tell(path, message);
    this.#reasons.set(path, message);
    return true;
  }
}

/** The damage as readiness, the status and doctor show it. */
export function damagedDatabase(path: string, reason: string): string {
  return `${basename(path)} is damaged (${reason}): what needs a damaged page is answered 503, all else as before. ${DAMAGE_PAGE} says what to do.`;
}

export function damagedAnalytics(path: string, reason: string): string {
  return `${basename(path)} is damaged (${reason}): counts, last uses and saved local limits are missing. Verifications go on. ${DAMAGE_PAGE} says what to do.`;
}
