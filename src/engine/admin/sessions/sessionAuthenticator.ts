import { AppError } from '../../../core/errors.ts';
import { sessionEnd } from '../../../core/sessionTimes.ts';
import type { FoundSession } from '../../../storage/port/records.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import type { ApplyChange } from '../change/applyChange.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Sessions kept in memory. The bound keeps the memory small whatever callers send. */
const MAX_CACHED = 1000;
/** How often the use of a session is saved. It may end this much too early, never too late. */
const SAVED_EVERY_MS = 10 * 60_000;

/** Authenticates the browsers that are signed in to the dashboard. */
export class SessionAuthenticator {
  readonly #storage: Storage;
  readonly #changes: ApplyChange;
  readonly #known = new Map<string, FoundSession>();
  #forgotten = 0;

  constructor({ storage, changes }: AdminContext) {
    this.#storage = storage;
    this.#changes = changes;
  }

  /** `isUse`: a person is there. Otherwise the session does not last longer by it. */
  async authenticate(digest: string, isUse: boolean): Promise<FoundSession> {
    const { freshness, ledger } = this.#storage;
    if (!freshness.isFresh()) await freshness.confirm();
    const nowMs = ledger.nowMs();
    const forgotten = this.#forgotten;
    const known = this.#known.get(digest);
    // Another node may have saved a later use.
    const found = known !== undefined && nowMs < known.session.untilMs ? known : await this.#find(digest, forgotten);
    if (found === null || nowMs >= found.session.untilMs) throw ended('The session has ended.');
    const { rootKey, session } = found;
    if (rootKey.revokedAtMs !== null) throw ended('The root key of this session was revoked.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs)
      throw ended('The root key of this session has expired.');
    if (isUse && nowMs - session.usedAtMs >= SAVED_EVERY_MS) {
      const used = { ...session, usedAtMs: nowMs, untilMs: sessionEnd(session.createdAtMs, nowMs) };
      // Kept before it is saved: other requests of the page do not save it as well.
      this.#keep(digest, { session: used, rootKey }, forgotten);
      await this.#save(used);
    }
    return found;
  }

  /** Forgets all sessions: one has ended, or a root key has changed. */
  forget(): void {
    this.#known.clear();
    this.#forgotten++;
  }

  async #find(digest: string, forgotten: number): Promise<FoundSession | null> {
    const found = await this.#storage.records.findSession(digest);
    if (found === null) this.#known.delete(digest);
    else this.#keep(digest, found, forgotten);
    return found;
  }

  async #save({ id: sessionId, usedAtMs, untilMs }: FoundSession['session']): Promise<void> {
    await this.#changes.applyOnce({
      writes: [{ kind: 'useSession', sessionId, usedAtMs, untilMs }],
      accounts: [],
    });
  }

  /** A session that was read before something was forgotten may have ended. It is used once, but not kept. */
  #keep(digest: string, found: FoundSession, forgotten: number): void {
    if (forgotten !== this.#forgotten) return;
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(digest, found);
  }
}

function ended(reason: string): AppError {
  return new AppError('UNAUTHORIZED', `${reason} Sign in again.`);
}
