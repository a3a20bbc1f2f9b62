import { expect, test } from 'bun:test';

const launcher = '../../tools/launch/run.mjs';
const { refuseOldProcessor, runToEnd } = (await import(launcher)) as {
  refuseOldProcessor: (ending: { code: number }) => void;
  runToEnd: (command: string, words: readonly string[], options: object) => Promise<{ code: number }>;
};

test('a program that the processor has ended is told with what the processor lacks; other endings are not', async () => {
  const endedBy = (signal: string) => runToEnd('sh', ['-c', `kill -${signal} $$`], {});
  const illegal = await endedBy('ILL');
  expect(illegal.code).toBe(132);
  expect(() => refuseOldProcessor(illegal)).toThrow(/illegal instruction.*SSE4\.2.*docs\/deployment\.md/);
  expect(() => refuseOldProcessor({ code: 0 })).not.toThrow();
  expect(await endedBy('KILL').then(refuseOldProcessor)).toBeUndefined();
});
