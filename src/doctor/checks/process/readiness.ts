import { defineCheck } from '../../check.ts';

export const readiness = defineCheck({
  name: 'readiness',
  meaning: 'The running service can answer.',
  severity: 'problem',
  needs: ['readiness'],
  find({ readiness: { reasons, command } }) {
    if (reasons.length === 0) return null;
    return {
      text: `The running service is not ready: ${reasons.join(' ')}`,
      fix: 'Look at the other problems in this list and at the log of the service. A process that does not answer at all has to be started again.',
      command,
    };
  },
});
