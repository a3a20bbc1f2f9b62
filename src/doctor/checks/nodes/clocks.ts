import { defineCheck, some } from '../../check.ts';

const WRONG_BY_MS = 1_000;

export const clocks = defineCheck({
  name: 'clocks',
  meaning: 'The clock of every node agrees with that of the database.',
  severity: 'advice',
  needs: ['nodes'],
  find({ nodes }) {
    const wrong = nodes.filter(({ isGone, clockOffsetMs }) => !isGone && Math.abs(clockOffsetMs) > WRONG_BY_MS);
    if (wrong.length === 0) return null;
    const named = wrong.map(
      ({ location, clockOffsetMs }) =>
        `${location} (${Math.abs(clockOffsetMs)} ms ${clockOffsetMs > 0 ? 'behind' : 'ahead'})`,
    );
    return {
      text: `The clock differs from that of the database: ${some(named)}. Keys and limits follow the database; logs and metrics of these nodes have wrong times.`,
      fix: 'Let NTP set the clocks of the nodes and of the database.',
      command: 'sudo timedatectl set-ntp true',
    };
  },
});
