import { readFileSync, writeFileSync } from 'node:fs';

import type { Service } from '../../../src/http/service.ts';
import { mainThreadNanoseconds } from '../process.ts';

/** Short, so that a disturbance of the machine affects phases of both kinds. */
const PHASE_MS = 50;
const PHASES_PER_NOTE = 20;

/** Processor time and answers of the answering thread while counting was on, or off. */
interface Phases {
  nanoseconds: number;
  answers: number;
}

/** The totals of a process since its start. */
export interface CostNote {
  readonly on: Phases;
  readonly off: Phases;
  /** Time spent on taking counts out and sending them to the writer. */
  readonly takingNanoseconds: number;
}

/** Shares of the time that the answering thread needs without analytics. */
export interface CountingCost {
  readonly counting: number;
  readonly taking: number;
}

/**
 * Measures how much time of the answering thread analytics takes, within one process: two processes of the same program differ
 * by more than this cost. Counting is switched on and off all the time. Taking counts out happens in both phases and is timed
 * separately. Not included: about twenty messages a second to the writer, their answers, and later garbage collection.
 */
export function noteCountingCost({ config, engine, metrics }: Service, file: string): void {
  const switched = config as { analytics: boolean };
  const note = { on: { nanoseconds: 0, answers: 0 }, off: { nanoseconds: 0, answers: 0 }, takingNanoseconds: 0 };
  let answers = 0;
  const verified = metrics.verified.bind(metrics);
  metrics.verified = (...told) => {
    answers++;
    verified(...told);
  };
  const timed = <A extends unknown[], R>(work: (...args: A) => R): ((...args: A) => R) => {
    return (...args) => {
      const startedAtMs = performance.now();
      const result = work(...args);
      note.takingNanoseconds += (performance.now() - startedAtMs) * 1_000_000;
      return result;
    };
  };
  const { storage, memory } = engine;
  const { openCounts } = memory;
  openCounts.take = timed(openCounts.take.bind(openCounts));
  storage.analytics.add = timed(storage.analytics.add.bind(storage.analytics));
  let [before, phases] = [mainThreadNanoseconds(process.pid), 0];
  if (before === null) return;
  setInterval(() => {
    const phase = switched.analytics ? note.on : note.off;
    phase.nanoseconds += (mainThreadNanoseconds(process.pid) ?? 0) - (before ?? 0);
    phase.answers += answers;
    if (++phases % PHASES_PER_NOTE === 0) writeFileSync(file, JSON.stringify(note));
    switched.analytics = !switched.analytics;
    [before, answers] = [mainThreadNanoseconds(process.pid), 0];
  }, PHASE_MS);
}

/** Null where the system does not report the time of a thread. */
export function readNote(file: string): CostNote | null {
  return process.platform === 'linux' ? (JSON.parse(readFileSync(file, 'utf8')) as CostNote) : null;
}

/** The cost between two notes. */
export function costBetween(before: CostNote, after: CostNote): CountingCost {
  const perAnswer = (phase: 'on' | 'off'): number =>
    (after[phase].nanoseconds - before[phase].nanoseconds) / (after[phase].answers - before[phase].answers);
  const all = (note: CostNote): number => note.on.nanoseconds + note.off.nanoseconds;
  return {
    counting: perAnswer('on') / perAnswer('off') - 1,
    taking: (after.takingNanoseconds - before.takingNanoseconds) / (all(after) - all(before)),
  };
}
