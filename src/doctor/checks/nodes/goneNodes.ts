import { defineCheck, lasting, some } from '../../check.ts';

export const goneNodes = defineCheck({
  name: 'nodes',
  meaning: 'Every node that was started has been seen within the last seconds.',
  severity: 'problem',
  needs: ['nodes', 'nowMs'],
  find({ nodes, nowMs }) {
    const gone = nodes.filter(({ isGone }) => isGone);
    if (gone.length === 0) return null;
    const named = gone.map(
      ({ id, location, seenAtMs }) => `${location} (${id}, last seen ${lasting(nowMs - seenAtMs)} ago)`,
    );
    return {
      text: `Not seen any more, without having been stopped: ${some(named)}.`,
      fix: 'Look at the log of the node and at its way to the database, and start it again. A node that is not coming back leaves the list by the command, or after two days.',
      command: `keystile nodes forget ${gone[0]?.id ?? 'NODE'}`,
    };
  },
});
