import { defineCheck, lasting, quoted } from '../../check.ts';
import type { BackupFact } from '../../facts.ts';

export const backups = defineCheck({
  name: 'backups',
  meaning: 'Scheduled backups are made, and the newest one is not old.',
  severity: 'problem',
  needs: ['backups', 'nowMs'],
  find({ backups: state, nowMs }) {
    const { folder, everyMs, newestAtMs, failure, isRefused } = state;
    if (failure !== null && isRefused) {
      return {
        text: `The service does not start. ${failure}`,
        fix: 'Set KEYSTILE_BACKUP_FOLDER to a folder that is not in the data folder, on another disk if there is one: a backup must not be lost with what it is a copy of.',
        command: 'KEYSTILE_BACKUP_FOLDER=/mnt/backups keystile serve',
      };
    }
    if (failure !== null) {
      return {
        text: `Scheduled backups fail: ${failure} ${newestText(state, nowMs)}`,
        fix: 'Correct the reason. A running service tries the next one within 10 minutes. Meanwhile, keystile backup create makes one in another folder.',
        command: 'keystile backup create keystile.backup',
      };
    }
    const sinceMs = newestAtMs ?? state.firstAwaitedSinceMs;
    // A run that was missed is no problem; a second one is.
    if (sinceMs !== null && nowMs - sinceMs < 2 * everyMs + 60_000) return null;
    return {
      text: `A backup is due every ${lasting(everyMs)}. ${newestText(state, nowMs)}`,
      fix: `Check that the service runs, that nothing removes the files in ${folder}, that its disk is the right one, and that the clock of the machine is right.`,
      command: `ls -l ${quoted(folder)}`,
    };
  },
});

function newestText({ folder, newestAtMs, firstAwaitedSinceMs }: BackupFact, nowMs: number): string {
  if (newestAtMs !== null) return `The newest one is ${lasting(nowMs - newestAtMs)} old.`;
  return firstAwaitedSinceMs === null
    ? `No backup of this data folder was found in ${folder}.`
    : 'There is no backup yet.';
}
