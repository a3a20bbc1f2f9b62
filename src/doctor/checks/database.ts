import type { Check } from '../check.ts';

export const database: Check = {
  name: 'database',
  meaning: 'The database answers and takes commits.',
  severity: 'problem',
  find({ stoppedBecause, commitFailure, config }) {
    const reason = stoppedBecause ?? commitFailure;
    if (reason === null) return null;
    const fix =
      config.databaseUrl === null
        ? `Check the disk of ${config.data} and the log of the service. Commits go on when there is space again; after a failure of the disk, start the service again.`
        : 'Check that PostgreSQL runs, that this node reaches it, and that its standby is connected. The node goes on by itself.';
    return { text: `This node refuses spends: ${reason}`, fix };
  },
};
