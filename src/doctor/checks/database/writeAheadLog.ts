import { LONG_WAL_BYTES } from '../../../core/health.ts';
import { defineCheck, quoted } from '../../check.ts';

const MIB = 2 ** 20;

export const writeAheadLog = defineCheck({
  name: 'write-ahead-log',
  meaning: 'The write-ahead log of the embedded database is short: no other program keeps it from being reused.',
  severity: 'problem',
  needs: ['walBytes', 'config'],
  find({ walBytes, config }) {
    if (walBytes <= LONG_WAL_BYTES) return null;
    return {
      text: `A write-ahead log has grown to ${Math.round(walBytes / MIB)} MiB: another program has been reading the database for a long time.`,
      fix: 'End the backup or the shell that has keystile.db or analytics.db open. The log becomes short again by itself.',
      command: `fuser -v ${quoted(`${config.data}/keystile.db`)} ${quoted(`${config.data}/analytics.db`)}`,
    };
  },
});
