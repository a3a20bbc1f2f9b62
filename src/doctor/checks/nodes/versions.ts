import { defineCheck, some } from '../../check.ts';

export const versions = defineCheck({
  name: 'versions',
  meaning: 'All nodes run the same version.',
  severity: 'advice',
  needs: ['nodes'],
  find({ nodes }) {
    const running = nodes.filter(({ isGone }) => !isGone);
    const found = [...new Set(running.map(({ version }) => version))].toSorted();
    if (found.length < 2) return null;
    return {
      text: `The nodes run different versions: ${some(found)}.`,
      fix: 'Finish the upgrade: stop the nodes of the older version one by one and start them with the newer one.',
      command: 'keystile nodes',
    };
  },
});
