import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { touchAccounts } from '../change/counters.ts';
import { idsAround } from './auditedKey.ts';

/** Keys of one step. */
const STEP = 100;

/**
 * Tells once of each key that it is about to expire (`alerts.expiresWithinMs`). The key notes for which expiry it was told, in the
 * transaction that writes the event. So it is told again when the expiry is moved, and of two nodes one tells.
 */
export class ExpiringKeys {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async run(): Promise<void> {
    const { records, ledger } = this.#context.storage;
    for (;;) {
      const found = await records.listExpiringKeys(ledger.nowMs(), STEP);
      let told = 0;
      for (const each of found) if (!('poisoned' in each) && (await this.#tell(each))) told++;
      // Keys that cannot be read or changed now wait for the next run.
      if (found.length < STEP || told === 0) return;
    }
  }

  async #tell({ key: before, identity }: KeyWithIdentity): Promise<boolean> {
    const { changes, storage, events } = this.#context;
    const former = await storage.records.listFormerSecrets([before.id]);
    const key = { ...before, toldExpiryMs: before.expiresAtMs, revision: before.revision + 1 };
    const formerDigests = former.map(({ digest }) => digest);
    const ids = { keyId: key.id, ...idsAround(key, identity) };
    return changes.tryOnce({
      writes: [{ kind: 'updateKey', key, expect: before.revision, formerDigests }],
      accounts: touchAccounts(before, key.revision),
      events: [events.make('key.expiring', ids, { expires: key.expiresAtMs })],
    });
  }
}
