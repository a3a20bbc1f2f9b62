import type { NewEvent } from '../../storage/port/events.ts';
import type { UntoldRefill } from '../../storage/port/told.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';

/** Refills of one step. They are told of in one commit. */
const STEP = 100;

/**
 * Tells of refills, from the lines that they have left in the statements. A line is marked in the commit of its event. If another node was
 * there first, nothing of the step is written, and the next run finds what is left.
 */
export class TellRefills {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async run(): Promise<void> {
    const { storage, changes } = this.#context;
    for (;;) {
      const found = await storage.told.untoldRefills(STEP);
      if (found.length === 0) return;
      const isTold = await changes.tryOnce({
        writes: [
          { kind: 'tellRefills', lines: found.map(({ account, line }) => ({ account, startMs: line.startMs })) },
        ],
        accounts: [],
        events: found.flatMap((refill) => this.#eventOf(refill)),
      });
      if (!isTold || found.length < STEP) return;
    }
  }

  /** No event tells of credits whose owner was deleted. */
  #eventOf({ owner, apiId, externalId, planId, line }: UntoldRefill): NewEvent[] {
    if (owner === null) return [];
    const ids = {
      [apiId === null ? 'identityId' : 'keyId']: owner,
      ...(apiId === null ? {} : { apiId }),
      ...(externalId === null ? {} : { externalId }),
      ...(planId === null ? {} : { planId }),
    };
    const { opening, refilled, held, startMs } = line;
    const facts = { refilled, remaining: opening + refilled - held, refilledAt: startMs };
    return [this.#context.events.make('credits.refilled', ids, facts)];
  }
}
