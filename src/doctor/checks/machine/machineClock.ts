import { defineCheck, lasting } from '../../check.ts';

const WRONG_BY_MS = 1_000;

export const machineClock = defineCheck({
  name: 'machine-clock',
  meaning: 'The clock of this machine agrees with the database.',
  severity: 'problem',
  needs: ['machineClockMs'],
  find({ machineClockMs }) {
    if (Math.abs(machineClockMs) <= WRONG_BY_MS) return null;
    return {
      text: `The clock of this machine is ${lasting(Math.abs(machineClockMs))} ${machineClockMs > 0 ? 'behind' : 'ahead of'} the database.`,
      fix: 'Let NTP set the clock. Expiry, windows and refills of the embedded database go by it; on PostgreSQL the log and the metrics do.',
      command: 'sudo timedatectl set-ntp true',
    };
  },
});
