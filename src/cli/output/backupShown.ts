import type { CopyContents } from '../../storage/sqlite/backup/inspectCopy.ts';

/** What is in a backup, for people. */
export function contentRows({
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
    ['identities', String(identities)],
    ['plans', String(plans)],
    ['root keys', String(rootKeys)],
    ['audit entries', String(auditEntries)],
  ];
}

export function showBytes(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 2 ** 10)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
