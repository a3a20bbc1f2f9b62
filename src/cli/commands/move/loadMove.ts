/** What the commands on exports need: loaded when one of them runs, not for the help. */
export const LOAD_MOVE = {
  exportData: () => import('../../move/exportData.ts'),
  importData: () => import('../../move/importData.ts'),
  hold: () => import('../../move/hold.ts'),
};
