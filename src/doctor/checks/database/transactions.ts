import { OLD_TRANSACTION_MS } from '../../../core/health.ts';
import { defineCheck, lasting, psql } from '../../check.ts';

export const transactions = defineCheck({
  name: 'transactions',
  meaning: 'No transaction on the database stays open for long.',
  severity: 'problem',
  needs: ['oldestTransactionMs'],
  find({ oldestTransactionMs }) {
    if (oldestTransactionMs < OLD_TRANSACTION_MS) return null;
    return {
      text: `A transaction on the database has been open for ${lasting(oldestTransactionMs)}. Busy counters are slow until it ends.`,
      fix: 'Look for it in pg_stat_activity, and end the program that opened it: often a backup or an idle shell.',
      command: psql('select pid, application_name, state, query from pg_stat_activity order by xact_start limit 3'),
    };
  },
});
