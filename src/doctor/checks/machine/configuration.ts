import { defineCheck } from '../../check.ts';

export const configuration = defineCheck({
  name: 'configuration',
  meaning: 'Every setting is known and has a valid value.',
  severity: 'problem',
  needs: ['settingProblems'],
  find({ settingProblems }) {
    if (settingProblems.length === 0) return null;
    return {
      text: settingProblems.join(' '),
      fix: 'Correct the settings; docs/configuration.md lists them. The service does not start before.',
      command: 'keystile serve --show-config',
    };
  },
});
