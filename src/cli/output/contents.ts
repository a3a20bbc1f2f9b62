import type { CopyContents } from '../../storage/sqlite/backup/inspectCopy.ts';

/** What is in an export, for people. */
export function dataRows(rows: Readonly<Record<string, number>>): [string, string][] {
  const of = (table: string): string => String(rows[table] ?? 0);
  return [
    ['apis', of('apis')],
    ['keys', of('keys')],
    ['customers', of('identities')],
    ['plans', of('plans')],
    ['root keys', of('root_keys')],
    ['accounts', of('accounts')],
    ['audit entries', of('audit_entries')],
    ['rows', String(Object.values(rows).reduce((sum, count) => sum + count, 0))],
  ];
}

/** What is in a backup, for people. */
export function backupRows({
  apis,
  keys,
  identities,
  plans,
  rootKeys,
  auditEntries,
}: CopyContents): [string, string][] {
  return [
    ['apis', String(apis)],
    ['keys', String(keys)],
    ['customers', String(identities)],
    ['plans', String(plans)],
    ['root keys', String(rootKeys)],
    ['audit entries', String(auditEntries)],
  ];
}

export function showBytes(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 2 ** 10)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
