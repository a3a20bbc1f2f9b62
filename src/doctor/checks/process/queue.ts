import { defineCheck } from '../../check.ts';

export const queue = defineCheck({
  name: 'queue',
  meaning: 'Spends and changes do not pile up before the ledger.',
  severity: 'problem',
  needs: ['waiting', 'config'],
  find({ waiting, config }) {
    if (waiting * 2 < config.maxWaiting) return null;
    return {
      text: `${waiting} spends and changes wait for the database; from ${config.maxWaiting} on, new ones are answered 503.`,
      fix: 'Look for a slow disk or a busy database. Limits that may be a little inexact can be local ("async": true): they need no commit.',
      command: `curl -s http://${config.metricsHost}:${config.metricsPort}/metrics | grep keystile_commit_seconds`,
    };
  },
});
