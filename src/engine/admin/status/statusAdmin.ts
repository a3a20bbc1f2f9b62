import type { Actor } from '../change/actor.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import type { ServiceStatus } from './serviceStatus.ts';

/** Reads how the service is doing. It tells of addresses and settings, so it needs a right of its own. */
export class StatusAdmin {
  readonly #read: () => Promise<ServiceStatus>;

  constructor(read: () => Promise<ServiceStatus>) {
    this.#read = read;
  }

  async read(actor: Actor): Promise<ServiceStatus> {
    requireEverywhere(actor, 'service.read_status');
    return this.#read();
  }
}
