import { defineCheck } from '../../check.ts';

export const copiedDatabase = defineCheck({
  name: 'copied-database',
  meaning: 'The database was made in its data folder, and is no copy from elsewhere.',
  severity: 'problem',
  needs: ['copyRefusal', 'config'],
  find({ copyRefusal, config }) {
    if (copyRefusal === null || config.acceptLostCommits) return null;
    return {
      text: copyRefusal,
      fix: 'After a restore, accept the copy for one start. Then remove the setting, and correct credits and keys that changed since the copy.',
      command: 'KEYSTILE_ACCEPT_LOST_COMMITS=true keystile serve',
    };
  },
});
