import { AppError } from '../../../core/errors.ts';
import type { RootKeyRecord, SessionRecord } from '../../../core/records.ts';
import { sessionEnd } from '../../../core/sessionTimes.ts';
import type { FoundSession } from '../../../storage/port/records.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import type { ApplyChange } from '../change/applyChange.ts';
import type { AdminContext } from '../change/adminContext.ts';

/** Sessions kept in memory. The bound keeps the memory small whatever callers send. */
const MAX_CACHED = 1000;
/** How often the use of a session is saved. It may end this much too early, never too late. */
const SAVED_EVERY_MS = 10 * 60_000;

/** A session that is valid, and the root key that it acts for. */
export interface SignedIn {
  readonly session: SessionRecord;
  readonly rootKey: RootKeyRecord;
}

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
  async authenticate(digest: string, isUse: boolean): Promise<SignedIn> {
    const { freshness, ledger } = this.#storage;
    if (!freshness.isFresh()) await freshness.confirm();
    const nowMs = ledger.nowMs();
    const known = this.#known.get(digest);
    // Another node may have saved a later use.
    const found = known !== undefined && nowMs < known.session.untilMs ? known : await this.#find(digest);
    if (found === null || nowMs >= found.session.untilMs) throw ended('The session has ended.');
    const { rootKey, session } = found;
    if (rootKey.revokedAtMs !== null) throw ended('The root key of this session was revoked.');
    if (rootKey.expiresAtMs !== null && nowMs >= rootKey.expiresAtMs)
      throw ended('The root key of this session has expired.');
    if (isUse && nowMs - session.usedAtMs >= SAVED_EVERY_MS) await this.#save(digest, found, nowMs);
    return found;
  }

  /** Forgets all sessions: one has ended, or a root key has changed. */
  forget(): void {
    this.#known.clear();
    this.#forgotten++;
  }

  async #find(digest: string): Promise<FoundSession | null> {
    const forgotten = this.#forgotten;
    const found = await this.#storage.records.findSession(digest);
    if (found === null) this.#known.delete(digest);
    else if (forgotten === this.#forgotten) this.#keep(digest, found);
    return found;
  }

  async #save(digest: string, { session, rootKey }: FoundSession, nowMs: number): Promise<void> {
    const used = { ...session, usedAtMs: nowMs, untilMs: sessionEnd(session.createdAtMs, nowMs) };
    const { id: sessionId, usedAtMs, untilMs } = used;
    // Kept before it is saved: other requests of the page do not save it as well.
    this.#keep(digest, { session: used, rootKey });
    await this.#changes.applyOnce({
      writes: [{ kind: 'useSession', sessionId, usedAtMs, untilMs }],
      accounts: [],
    });
  }

  #keep(digest: string, found: FoundSession): void {
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(digest, found);
  }
}

function ended(reason: string): AppError {
  return new AppError('UNAUTHORIZED', `${reason} Sign in again.`);
}
