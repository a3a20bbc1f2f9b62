import { expect, test } from 'bun:test';

import { Background } from '../../src/serve/background.ts';
import type { Task } from '../../src/storage/port/tasks.ts';

/** Runs tasks with timers of a millisecond. */
function runTasks(tasks: readonly Task[]): { background: Background; logged: string[] } {
  const logged: string[] = [];
  const background = new Background({
    tasks,
    log: { warn: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`) },
    monotonicMs: () => performance.now(),
    random: () => 0.5,
    spreads: true,
  });
  background.start();
  return { background, logged };
}

test('a task that fails runs again; the same failure is logged once, and again after a success', async () => {
  const done = Promise.withResolvers<void>();
  const outcomes = ['full', 'full', null, 'full', 'away'];
  const { background, logged } = runTasks([
    {
      name: 'saving',
      everyMs: 1,
      async run() {
        const outcome = outcomes.shift();
        if (outcome === undefined) done.resolve();
        else if (outcome !== null) throw new Error(outcome);
      },
    },
  ]);
  await done.promise;
  await background.stop();
  expect(background.failedRuns).toEqual({ saving: 4 });
  expect(logged).toEqual(
    ['full', 'full', 'away'].map((reason) => `saving failed; it will be tried again {"reason":"${reason}"}`),
  );
});

test('a stop ends rests and waits at once, tells the tasks, waits for runs, and starts no other run', async () => {
  const events: string[] = [];
  const resting = Promise.withResolvers<void>();
  const { background } = runTasks([
    {
      name: 'folding',
      everyMs: 1,
      async run(turn) {
        events.push('run');
        resting.resolve();
        const goesOn = await turn.rest(3_600_000);
        await turn.until(new Promise(() => {}));
        events.push(goesOn ? 'goes on' : 'ends');
      },
      stop: () => events.push('stop'),
    },
  ]);
  await resting.promise;
  await background.stop();
  expect(events).toEqual(['run', 'stop', 'ends']);
});
