import type { RecordWrite } from '../../port/writes.ts';
import { insert, type WriteStatement } from '../query/statement.ts';

type ToldWrite = Extract<RecordWrite, { kind: 'tellCredits' | 'tellRefills' | 'tellLimit' }>;

/** Each is refused when another node has told of the same. */
export function toldStatement(write: ToldWrite): WriteStatement {
  switch (write.kind) {
    case 'tellCredits': {
      const { account, type, below } = write;
      const { sql, params } = insert('told_credits', { account, type, below });
      return { sql: `${sql} ON CONFLICT DO NOTHING`, params, expects: 1 };
    }
    case 'tellRefills': {
      // The casts are needed because PostgreSQL takes a parameter in VALUES for text.
      const rows = write.lines.map((_, i) => `(CAST($${i * 2 + 1} AS bigint), CAST($${i * 2 + 2} AS bigint))`);
      const sql = `UPDATE statement_lines SET told = 1 WHERE told = 0 AND (account, start_ms) IN (VALUES ${rows.join(', ')})`;
      const params = write.lines.flatMap(({ account, startMs }) => [account, startMs]);
      return { sql, params, expects: write.lines.length };
    }
    case 'tellLimit': {
      const { owner, name, durationMs, resetAtMs } = write;
      const row = { owner, name, duration_ms: durationMs, reset_at_ms: resetAtMs };
      const { sql, params } = insert('told_limits', row);
      const later =
        'DO UPDATE SET reset_at_ms = excluded.reset_at_ms WHERE told_limits.reset_at_ms < excluded.reset_at_ms';
      return { sql: `${sql} ON CONFLICT (owner, name, duration_ms) ${later}`, params, expects: 1 };
    }
  }
}
