import type { FormerSecret } from '../../port/records.ts';
import { findAny } from '../query/findAny.ts';
import type { SqlReader } from '../query/statement.ts';

interface SecretRow {
  digest: string;
  owner: string;
  until_ms: number;
}

/** The former secrets of these keys or root keys; the first that ends comes first. */
export async function listFormerSecrets(reader: SqlReader, owners: readonly string[]): Promise<FormerSecret[]> {
  const byOwner = { select: 'SELECT digest, owner, until_ms FROM former_secrets', column: 'owner' };
  const rows = await findAny<SecretRow>(reader, byOwner, owners);
  return rows.map(({ until_ms, ...row }) => ({ ...row, untilMs: until_ms })).toSorted((a, b) => a.untilMs - b.untilMs);
}
