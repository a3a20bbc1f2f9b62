import { basename } from 'node:path';

import { type DamageFound, StorageDamaged } from '../../port/storage.ts';
import { toWriteFailure, type WriteFailure } from './writeFailure.ts';

/** Where it is written what to do about a damaged file. */
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
 * What has been found damaged in the files of a data folder. A damaged page stays damaged until the file is replaced, and for that the
 * service is stopped. So damage is remembered as long as the process runs, and told once for each file.
 */
export class Damage {
  readonly #options: DamageOptions;
  /** The reason for each damaged file, by its path. */
  readonly #reasons = new Map<string, string>();

  constructor(options: DamageOptions) {
    this.#options = options;
  }

  /** The gravest: what is in keystile.db is missing to requests, what is in analytics.db only to counts. */
  get found(): DamageFound | null {
    const { databasePath, analyticsPath } = this.#options;
    const ofDatabase = this.#reasons.get(databasePath);
    if (ofDatabase !== undefined) return { text: damagedDatabase(databasePath, ofDatabase), ofCountsOnly: false };
    const ofAnalytics = this.#reasons.get(analyticsPath);
    return ofAnalytics === undefined
      ? null
      : { text: damagedAnalytics(analyticsPath, ofAnalytics), ofCountsOnly: true };
  }

  /** A read has failed. Answers how its caller is told of damage; other failures are answered as they are. */
  noteRead(error: unknown, sql: string): unknown {
    const { databasePath, analyticsPath, readsAnalytics } = this.#options;
    const path = readsAnalytics(sql) ? analyticsPath : databasePath;
    if (!this.note(path, toWriteFailure(error))) return error;
    return new StorageDamaged(
      `What this request needs is on a damaged page of ${basename(path)}; nothing was done. ` +
        `The operator of the service finds what to do in ${DAMAGE_PAGE}.`,
    );
  }

  /** Remembers the failure if it is damage, and answers whether it is. */
  note(path: string, { kind, message }: WriteFailure): boolean {
    if (kind !== 'damaged') return false;
    if (!this.#reasons.has(path)) this.#options.tell(path, message);
    this.#reasons.set(path, message);
    return true;
  }
}

/** As readiness, the status and doctor tell it. */
export function damagedDatabase(path: string, reason: string): string {
  return `${basename(path)} is damaged (${reason}): what needs a damaged page is answered 503, all else as before. ${DAMAGE_PAGE} says what to do.`;
}

export function damagedAnalytics(path: string, reason: string): string {
  return `${basename(path)} is damaged (${reason}): counts, last uses and saved local limits are missing. Verifications go on. ${DAMAGE_PAGE} says what to do.`;
}
