/** What is in an export, for people. */
export function contentRows(rows: Readonly<Record<string, number>>): [string, string][] {
  const of = (table: string): string => String(rows[table] ?? 0);
  return [
    ['apis', of('apis')],
    ['keys', of('keys')],
    ['identities', of('identities')],
    ['plans', of('plans')],
    ['root keys', of('root_keys')],
    ['accounts', of('accounts')],
    ['audit entries', of('audit_entries')],
    ['rows', String(Object.values(rows).reduce((sum, count) => sum + count, 0))],
  ];
}
