import { defineCheck } from '../../check.ts';

export const metricsPort = defineCheck({
  name: 'metrics-port',
  meaning: 'The port of the metrics is free, or held by the service itself.',
  severity: 'advice',
  needs: ['metricsPort'],
  find({ metricsPort: { port, state, reason, free } }) {
    if (state === 'free' || state === 'ours') return null;
    return {
      text: `The metrics cannot listen on port ${port} (${reason}): the service runs without metrics.`,
      fix: 'Set KEYSTILE_METRICS_PORT to a free port.',
      command: `KEYSTILE_METRICS_PORT=${free} keystile serve`,
    };
  },
});
