import { findAny } from '../query/findAny.ts';
import type { SqlReader } from '../query/statement.ts';

/**
 * The columns that hold digests. Former secrets are read last: a rotation moves a digest there from one of the others. A digest that
 * moves between two reads is then found twice, never missed.
 */
const COLUMNS = [
  { select: 'SELECT secret_digest AS digest FROM keys', column: 'secret_digest' },
  { select: 'SELECT secret_digest AS digest FROM root_keys', column: 'secret_digest' },
  { select: 'SELECT digest FROM former_secrets', column: 'digest' },
];

export async function findTakenDigests(reader: SqlReader, digests: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  for (const column of COLUMNS) {
    taken.push(...(await findAny<{ digest: string }>(reader, column, digests)).map(({ digest }) => digest));
  }
  return taken;
}
