import { readFileSync, writeFileSync } from 'node:fs';

import type { Service } from '../../src/http/service.ts';
import { mainThreadNanoseconds } from './process.ts';

/** So short that what disturbs the machine disturbs both. */
const PHASE_MS = 50;
const PHASES_PER_NOTE = 20;

/** Of the thread that answers, while counting was on or off. */
interface Phases {
  nanoseconds: number;
  answers: number;
}

/** What a process has noted since its start. */
export interface CostNote {
  readonly on: Phases;
  readonly off: Phases;
  /** In which counts were taken out and sent to be written. */
  readonly takingNanoseconds: number;
}

/** As shares of the time that the thread needs without it. */
export interface CountingCost {
  readonly counting: number;
  readonly taking: number;
}

/**
 * What of the time of the thread that answers goes into analytics, within one process: counting is switched on and off all
 * the time, and taking counts out, which goes on in both, is timed by itself. Two processes of the same program differ by more than what
 * is looked for. Not in it: some twenty messages a second to the thread that writes, their answers, and what garbage of it costs later.
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
  const { openCounts, storage } = engine;
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

/** null where the system does not tell the time of a thread. */
export function readNote(file: string): CostNote | null {
  return process.platform === 'linux' ? (JSON.parse(readFileSync(file, 'utf8')) as CostNote) : null;
}

/** Between two notes. */
export function costBetween(before: CostNote, after: CostNote): CountingCost {
  const perAnswer = (phase: 'on' | 'off'): number =>
    (after[phase].nanoseconds - before[phase].nanoseconds) / (after[phase].answers - before[phase].answers);
  const all = (note: CostNote): number => note.on.nanoseconds + note.off.nanoseconds;
  return {
    counting: perAnswer('on') / perAnswer('off') - 1,
    taking: (after.takingNanoseconds - before.takingNanoseconds) / (all(after) - all(before)),
  };
}
