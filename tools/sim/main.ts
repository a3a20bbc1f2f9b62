import { FAULTS, type Fault, Violation, World, type WorldOptions } from './world.ts';

const seed = Number(process.argv[2] ?? 1);
const options: WorldOptions = {
  seed,
  calls: Number(process.argv[3] ?? 3_000),
  nodes: 3,
  cases: 30,
  faults: (process.argv[4]?.split(',') as Fault[]) ?? FAULTS,
};
const started = performance.now();
try {
  const world = await World.play(options);
  console.log(
    `seed ${seed}: ${world.calls} calls, ${world.checks} checks in ${Math.round(performance.now() - started)} ms`,
    world.struck,
  );
} catch (error) {
  if (!(error instanceof Violation)) throw error;
  console.log(error.story.join('\n'));
  console.log(`seed ${seed}: ${error.message}`);
  process.exitCode = 1;
}
