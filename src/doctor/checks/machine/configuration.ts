import { defineCheck } from '../../check.ts';

export const configuration = defineCheck({
  name: 'configuration',
  meaning: 'Every setting is known and has a valid value, and none was removed.',
  severity: 'problem',
  needs: ['settingProblems', 'removedSettings'],
  find({ settingProblems, removedSettings }) {
    const command = 'keystile serve --show-config';
    if (settingProblems.length > 0) {
      return {
        text: settingProblems.join(' '),
        fix: 'Correct the settings; docs/configuration.md lists them. The service does not start before.',
        command,
      };
    }
    if (removedSettings.length === 0) return null;
    return {
      severity: 'advice',
      text: removedSettings.join(' '),
      fix: 'Remove them where they are set. The service runs without them.',
      command,
    };
  },
});
