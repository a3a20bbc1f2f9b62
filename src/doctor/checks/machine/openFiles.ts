import { defineCheck } from '../../check.ts';

export const openFiles = defineCheck({
  name: 'open-files',
  meaning: 'The limit of open files allows KEYSTILE_MAX_CONNECTIONS.',
  severity: 'advice',
  needs: ['openFiles', 'config'],
  find({ openFiles: { limit, fitting, needed }, config: { maxConnections } }) {
    if (limit === null || fitting >= maxConnections) return null;
    const effect = fitting === 0 ? 'the service does not start' : `${fitting} connections are accepted`;
    return {
      ...(fitting === 0 ? { severity: 'problem' } : {}),
      text: `The limit of open files is ${limit}, and KEYSTILE_MAX_CONNECTIONS=${maxConnections} needs ${needed}: ${effect}.`,
      fix: `Raise the limit with ulimit -n, with LimitNOFILE=${needed} under systemd or with --ulimit nofile=${needed} of a container, or lower KEYSTILE_MAX_CONNECTIONS.`,
      command: `ulimit -n ${needed}`,
    };
  },
});
