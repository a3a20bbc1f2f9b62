import { defineCheck } from '../../check.ts';

export const lostCommits = defineCheck({
  name: 'lost-commits',
  meaning: 'A start refuses a database that has lost commits.',
  severity: 'problem',
  needs: ['config'],
  find({ config: { acceptLostCommits } }) {
    if (!acceptLostCommits) return null;
    return {
      text: 'KEYSTILE_ACCEPT_LOST_COMMITS is on: a start accepts a restored or damaged database without a word.',
      fix: 'Remove the setting. It is meant for the one start after a restore.',
      command: 'unset KEYSTILE_ACCEPT_LOST_COMMITS',
    };
  },
});
