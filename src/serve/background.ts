import type { Task, TaskLog, Turn } from '../storage/port/tasks.ts';

/** As a part of a period: a timer may fire this much early, and its run then belongs to the next period. */
const EARLY = 0.1;

interface BackgroundOptions {
  readonly tasks: readonly Task[];
  readonly log: Pick<TaskLog, 'warn'>;
  readonly monotonicMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /**
   * True: each run is shifted by up to a tenth of its period, so that nodes that were started together do not ask the database at the same
   * time. False: all tasks run in step, so that an idle process wakes less often.
   */
  readonly spreads: boolean;
}

/** Runs tasks until the process stops, each independently of the others. */
export class Background {
  readonly #options: BackgroundOptions;
  readonly #timers = new Map<Task, ReturnType<typeof setTimeout>>();
  readonly #running = new Set<Promise<void>>();
  /** Why the last run of a task failed. */
  readonly #failures = new Map<Task, string>();
  /** Failed runs since the start, by the name of the task. */
  readonly #failedRuns: Record<string, number>;
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#failedRuns = Object.fromEntries(options.tasks.map(({ name }) => [name, 0]));
  }

  get failedRuns(): Readonly<Record<string, number>> {
    return this.#failedRuns;
  }

  start(): void {
    for (const task of this.#options.tasks) this.#arm(task, 0);
  }

  /** Ends the timers and waits for the runs that are going on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopped.resolve();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const task of this.#options.tasks) task.stop?.();
    await Promise.all(this.#running);
  }

  #arm(task: Task, tookMs: number): void {
    if (this.#isStopped) return;
    this.#timers.set(
      task,
      setTimeout(() => this.#start(task), this.#untilNextMs(task.everyMs, tookMs)),
    );
  }

  #start(task: Task): void {
    const { monotonicMs } = this.#options;
    const startedAtMs = monotonicMs();
    const running = this.#run(task);
    this.#running.add(running);
    void running.finally(() => {
      this.#running.delete(running);
      this.#arm(task, monotonicMs() - startedAtMs);
    });
  }

  /** A failure is logged once, until the task succeeds or fails in another way. */
  async #run(task: Task): Promise<void> {
    try {
      await task.run(this.#turn);
      this.#failures.delete(task);
    } catch (error) {
      this.#failedRuns[task.name] = (this.#failedRuns[task.name] ?? 0) + 1;
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#failures.get(task) !== reason)
        this.#options.log.warn(`${task.name} failed; it will be tried again`, { reason });
      this.#failures.set(task, reason);
    }
  }

  #untilNextMs(everyMs: number, tookMs: number): number {
    const { spreads, monotonicMs, random } = this.#options;
    if (spreads) return Math.max(0, everyMs * (0.9 + 0.2 * random()) - tookMs);
    const restMs = everyMs - (monotonicMs() % everyMs);
    return restMs < everyMs * EARLY ? restMs + everyMs : restMs;
  }

  readonly #turn: Turn = {
    rest: async (milliseconds) => {
      const rested = Promise.withResolvers<void>();
      const timer = setTimeout(rested.resolve, milliseconds);
      await Promise.race([rested.promise, this.#stopped.promise]);
      clearTimeout(timer);
      return !this.#isStopped;
    },
    until: (event) => Promise.race([event, this.#stopped.promise]),
  };
}
