import { escapeLiteral } from 'pg';

import type { RecordWrite } from '../port.ts';
import type { Ask } from './pool.ts';

/** The channel on which nodes hear that something changed. It is the fast way; what counts is the numbered table. */
export const CHANNEL = 'keystile_changes';

/**
 * What a change touches of what nodes keep in memory, read before the change; the answer is the statement that writes it down.
 * It is sent together with the commit: the counter row is held from there on, so that the numbers follow the order of
 * commits, and no other change waits for a round trip of this node.
 */
export async function noteChange(ask: Ask, writes: readonly RecordWrite[]): Promise<(nowMs: number) => string> {
  const keys: string[] = [];
  let rootKeys = false;
  for (const write of writes) {
    // A new key ends what nodes remember of its digest: that there is none.
    if (write.kind === 'insertKey' || write.kind === 'updateKey') keys.push(write.key.secretDigest);
    if (write.kind === 'removeKey') keys.push(...(await digestOf(ask, write.keyId)));
    if (write.kind === 'insertRootKey' || write.kind === 'revokeRootKey') rootKeys = true;
  }
  if (keys.length === 0 && !rootKeys) return () => '';
  const array = `ARRAY[${keys.map((key) => escapeLiteral(key)).join(', ')}]::text[]`;
  return (nowMs) => `WITH next AS (UPDATE change_counter SET number = number + 1 RETURNING number),
    noted AS (INSERT INTO changes (number, at_ms, keys, root_keys)
      SELECT number, ${nowMs}, ${array}, ${rootKeys} FROM next RETURNING number)
    SELECT pg_notify('${CHANNEL}', number::text) FROM noted;`;
}

async function digestOf(ask: Ask, keyId: string): Promise<string[]> {
  const { rows } = await ask<{ secret_digest: string }>({
    text: 'SELECT secret_digest FROM keys WHERE id = $1',
    values: [keyId],
  });
  return rows.map(({ secret_digest }) => secret_digest);
}
