import { defineCheck } from '../../check.ts';

export const port = defineCheck({
  name: 'port',
  meaning: 'The port of the service is free, or held by the service itself.',
  severity: 'problem',
  needs: ['port', 'config'],
  find({ port: { port: number, state, reason, free }, config }) {
    if (state === 'free' || state === 'ours') return null;
    if (state === 'taken')
      return {
        text: `Port ${number} is in use by another program (${reason}).`,
        fix: 'Stop that program, or set KEYSTILE_PORT to a free port.',
        command: `KEYSTILE_PORT=${free} keystile serve`,
      };
    return {
      text: `This user cannot listen on ${config.host}:${number} (${reason}).`,
      fix: 'Set KEYSTILE_HOST to an address of this machine, and KEYSTILE_PORT to a port from 1024 on.',
      command: 'KEYSTILE_HOST=127.0.0.1 KEYSTILE_PORT=7878 keystile serve',
    };
  },
});
