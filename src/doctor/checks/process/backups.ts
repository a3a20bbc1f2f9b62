import { defineCheck, lasting, quoted } from '../../check.ts';

export const backups = defineCheck({
  name: 'backups',
  meaning: 'Scheduled backups are made, and the newest one is not old.',
  severity: 'problem',
  needs: ['backups', 'nowMs'],
  find({ backups: state, nowMs }) {
    if (state === null) return null;
    const { folder, everyMs, newestAtMs, failure } = state;
    const newest =
      newestAtMs === null ? 'There is no backup yet.' : `The newest one is ${lasting(nowMs - newestAtMs)} old.`;
    if (failure !== null) {
      return {
        text: `The last scheduled backup failed: ${failure} ${newest}`,
        fix: `Correct the reason. The next one is tried within 10 minutes. Meanwhile, keystile backup create makes one in another folder.`,
        command: 'keystile backup create keystile.backup',
      };
    }
    // A run that was missed is no problem; a second one is.
    if (newestAtMs === null || nowMs - newestAtMs < 2 * everyMs + 60_000) return null;
    return {
      text: `A backup is due every ${lasting(everyMs)}. ${newest}`,
      fix: `Check that nothing removes the files in ${folder}, and that the clock of the machine is right.`,
      command: `ls -l ${quoted(folder)}`,
    };
  },
});
