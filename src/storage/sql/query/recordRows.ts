import { APIS } from '../../../model/apis.ts';
import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import { rowReader } from '../../../model/columns.ts';
import type { StoredEntry } from '../../port/auditEntries.ts';
import type { FoundRole } from '../../port/records.ts';

/** Rows of the tables of both engines, and the records that they become. */

/** Leaves unreadable rows out of a list. Reading such a record by itself fails. */
export function readableOf<R, T>(rows: readonly R[], toRecord: (row: R) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [toRecord(row)];
    } catch {
      return [];
    }
  });
}

/** A row of any of these tables. Its reader knows the other columns. */
export interface RecordRow {
  readonly id: string;
}

export const toApi = rowReader(APIS);
export const toIdentity = rowReader(IDENTITIES);
export const toPlan = rowReader(PLANS);
export const toPermission = rowReader(PERMISSIONS);
export const toRole = rowReader(ROLES);
export const toNamespace = rowReader(NAMESPACES);
export const toOverride = rowReader(OVERRIDES);
export const toRootKey = rowReader(ROOT_KEYS);

/** A role whose permissions cannot be read still exists: its name is taken, and a request can name it. */
export function toFoundRole(row: object): FoundRole {
  try {
    return { ...toRole(row), broken: null };
  } catch (error) {
    const broken = error instanceof Error ? error.message : String(error);
    return { ...toRole({ ...row, permissions: null }), broken };
  }
}

export interface EntryRow {
  number: number;
  at_ms: number;
  actor: string;
  action: string;
  target: string;
  before_json: string | null;
  after_json: string | null;
  origin: string | null;
  request_id: string | null;
  via: 'dashboard' | 'portal' | null;
}

export function toEntry(row: EntryRow): StoredEntry {
  return {
    number: row.number,
    atMs: row.at_ms,
    actor: row.actor,
    action: row.action,
    target: row.target,
    before: row.before_json,
    after: row.after_json,
    origin: row.origin,
    requestId: row.request_id,
    via: row.via,
  };
}
