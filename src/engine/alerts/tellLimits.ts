import type { AdminContext } from '../admin/change/adminContext.ts';
import type { LimitNotice, Notices } from './notices.ts';

/** Limits that are told of at the same time. */
const TOGETHER = 16;

/** Tells of limits that have refused a verification. A row for each limit remembers its last window, so of many nodes one tells. */
export class TellLimits {
  readonly #context: AdminContext;
  readonly #notices: Notices;

  constructor(context: AdminContext, notices: Notices) {
    this.#context = context;
    this.#notices = notices;
  }

  async run(): Promise<void> {
    for (let left = this.#notices.limitsSize; left > 0; left -= TOGETHER) {
      const taken = this.#notices.takeLimits(Math.min(left, TOGETHER));
      try {
        await Promise.all(taken.map((notice) => this.#tell(notice)));
      } catch (error) {
        this.#notices.putBackLimits(taken);
        throw error;
      }
    }
  }

  async #tell(notice: LimitNotice): Promise<void> {
    const { changes, events } = this.#context;
    const { owner, name, limit, durationMs, async, resetAtMs, ids } = notice;
    const facts = { name, limit, duration: durationMs, async, reset: resetAtMs };
    // What is refused was told of by another node.
    await changes.tryOnce({
      writes: [{ kind: 'tellLimit', owner, name, durationMs, resetAtMs }],
      accounts: [],
      events: [events.make('limit.reached', ids, facts)],
    });
    this.#notices.toldLimit(notice);
  }
}
