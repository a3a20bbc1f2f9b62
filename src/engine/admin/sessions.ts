import { base58 } from '../../basics/base58.ts';
import { AppError, notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { SessionRecord } from '../../core/records.ts';
import { idsWithRight } from '../../core/rights.ts';
import { makeSecret, OWN_PREFIXES } from '../../core/secret.ts';
import { sessionEnd, SIGN_IN_LINK_MS } from '../../core/portalSession.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireOn, requireSomewhere } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import type { ApplyChange } from './change/applyChange.ts';
import type { System } from '../platform.ts';
import type { RootKeyRecord } from '../../model/access.ts';
import type { FoundSession } from '../../storage/port/records.ts';
import type { Storage } from '../../storage/port/storage.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';

/** The browsers that are signed in to the dashboard, and how they do. */
export interface Sessions {
  readonly admin: SessionAdmin;
  readonly authenticator: SessionAuthenticator;
  readonly links: SignInLinks;
}

export function makeSessions(context: AdminContext, known: KnownSessions): Sessions {
  return {
    admin: new SessionAdmin(context),
    authenticator: new SessionAuthenticator(context, known),
    links: new SignInLinks(context.system),
  };
}

const PREFIX = OWN_PREFIXES.session;
const SECRET_BYTES = 24;
/** Sessions that a root key may have at a time. One more ends the oldest. */
const MAX_PER_ROOT_KEY = 50;
/** Sessions that are listed at the most. */
const MAX_LISTED = 1000;

/** How a browser signs in. */
interface SignIn {
  /** How it names itself. */
  readonly browser: string | null;
  readonly by: 'root key' | 'link';
  /** Of the session that it has; null = none. */
  readonly formerSecret: string | null;
}

/** Signs browsers in and out. */
class SessionAdmin {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #changes: ApplyChange;

  constructor({ storage, system, changes }: AdminContext) {
    this.#storage = storage;
    this.#system = system;
    this.#changes = changes;
  }

  /** The secret belongs into the browser's cookie, and nowhere else. The session that the browser had before ends. */
  async signIn(rootKey: RootKeyRecord, actor: Actor, signIn: SignIn): Promise<{ id: string; secret: string }> {
    const { browser, by, formerSecret } = signIn;
    const nowMs = this.#storage.ledger.nowMs();
    const secret = makeSecret(PREFIX, this.#system.randomBytes(SECRET_BYTES));
    const session: SessionRecord = {
      id: makeId('ses', nowMs, this.#system.randomBytes(ID_RANDOM_BYTES)),
      digest: this.#system.digestSecret(secret),
      rootKeyId: rootKey.id,
      createdAtMs: nowMs,
      usedAtMs: nowMs,
      untilMs: sessionEnd(nowMs, nowMs),
      origin: actor.origin,
      browser,
    };
    const { records } = this.#storage;
    const former = formerSecret === null ? null : await records.findSession(this.#system.digestSecret(formerSecret));
    const writes: RecordWrite[] = [
      ...(former === null ? [] : [{ kind: 'endSession', sessionId: former.session.id } as const]),
      { kind: 'insertSession', session, expect: rootKey.secretDigest, most: MAX_PER_ROOT_KEY },
    ];
    const after = { rootKeyId: rootKey.id, browser, by };
    const entry = auditEntry(actor, { action: 'session.create', target: session.id, before: null, after });
    if (!(await this.#changes.tryOnce({ writes, accounts: [], entries: [entry] }))) {
      throw new AppError('UNAUTHORIZED', 'The root key was changed at the same time. Sign in again.');
    }
    return { id: session.id, secret };
  }

  /** The sessions of the root keys that the actor may read; the newest first. */
  async list(actor: Actor): Promise<readonly SessionRecord[]> {
    requireSomewhere(actor, 'root.read_root_key');
    const rootKeyIds = idsWithRight(actor.rights, 'root.read_root_key');
    return this.#storage.records.listSessions(rootKeyIds, this.#storage.ledger.nowMs(), MAX_LISTED);
  }

  /** Signs the actor's own browser out. */
  async signOut(sessionId: string, actor: Actor): Promise<void> {
    await this.#end(await this.#find(sessionId), actor);
  }

  /** Ends a session of a root key that the actor may revoke. */
  async end(sessionId: string, actor: Actor): Promise<void> {
    requireSomewhere(actor, 'root.revoke_root_key');
    const session = await this.#find(sessionId);
    requireOn(actor, 'root.revoke_root_key', session.rootKeyId, 'session', sessionId);
    await this.#end(session, actor);
  }

  async #find(sessionId: string): Promise<SessionRecord> {
    const session = await this.#storage.records.findSessionById(sessionId);
    if (session === null || this.#storage.ledger.nowMs() >= session.untilMs) throw notFound('session', sessionId);
    return session;
  }

  async #end(session: SessionRecord, actor: Actor): Promise<void> {
    const { id: sessionId } = session;
    const before = { rootKeyId: session.rootKeyId, browser: session.browser };
    const entry = auditEntry(actor, { action: 'session.end', target: sessionId, before, after: null });
    await this.#changes.applyOnce({ writes: [{ kind: 'endSession', sessionId }], accounts: [], entries: [entry] });
  }
}

/** Sessions kept in memory. The bound keeps the memory small whatever callers send. */
const MAX_CACHED = 1000;

/** Sessions that were read, by the digest of their secret. */
export class KnownSessions {
  readonly #known = new Map<string, FoundSession>();
  #forgotten = 0;

  /** What a session that is read from now on is kept with. */
  get forgotten(): number {
    return this.#forgotten;
  }

  get(digest: string): FoundSession | undefined {
    return this.#known.get(digest);
  }

  /** A session that was read before something was forgotten may have ended. It is used once, but not kept. */
  keep(digest: string, found: FoundSession, forgotten: number): void {
    if (forgotten !== this.#forgotten) return;
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(digest, found);
  }

  delete(digest: string): void {
    this.#known.delete(digest);
  }

  /** Forgets all of them: one has ended, or a root key has changed. */
  forget(): void {
    this.#known.clear();
    this.#forgotten++;
  }
}

/** How often the use of a session is saved. It may end this much too early, never too late. */
const SAVED_EVERY_MS = 10 * 60_000;

/** Authenticates the browsers that are signed in to the dashboard. */
class SessionAuthenticator {
  readonly #storage: Storage;
  readonly #changes: ApplyChange;
  readonly #known: KnownSessions;

  constructor({ storage, changes }: AdminContext, known: KnownSessions) {
    this.#storage = storage;
    this.#changes = changes;
    this.#known = known;
  }

  /** `isUse`: a person is there. Otherwise the session does not last longer by it. */
  async authenticate(digest: string, isUse: boolean): Promise<FoundSession> {
    const { freshness, ledger } = this.#storage;
    if (!freshness.mayUseCache()) await freshness.confirm();
    const nowMs = ledger.nowMs();
    const { forgotten } = this.#known;
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
      this.#known.keep(digest, { session: used, rootKey }, forgotten);
      await this.#save(used);
    }
    return found;
  }

  async #find(digest: string, forgotten: number): Promise<FoundSession | null> {
    const found = await this.#storage.records.findSession(digest);
    if (found === null) this.#known.delete(digest);
    else this.#known.keep(digest, found, forgotten);
    return found;
  }

  async #save({ id: sessionId, usedAtMs, untilMs }: FoundSession['session']): Promise<void> {
    await this.#changes.applyOnce({
      writes: [{ kind: 'useSession', sessionId, usedAtMs, untilMs }],
      accounts: [],
    });
  }
}

function ended(reason: string): AppError {
  return new AppError('UNAUTHORIZED', `${reason} Sign in again.`);
}

const TOKEN_BYTES = 24;
/** Links that are open at a time. One more closes the oldest. */
const MAX_OPEN = 20;

/**
 * Links that sign a browser in once. They are only in the memory of this process: whoever reads its terminal may use one. Only the digest
 * of a token is kept.
 */
class SignInLinks {
  readonly #system: System;
  readonly #open = new Map<string, { readonly rootKeyId: string; readonly untilMs: number }>();

  constructor(system: System) {
    this.#system = system;
  }

  create(rootKeyId: string): string {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) this.#open.delete(oldest);
    const token = base58(this.#system.randomBytes(TOKEN_BYTES));
    const untilMs = this.#system.nowMs() + SIGN_IN_LINK_MS;
    this.#open.set(this.#system.digestSecret(token), { rootKeyId, untilMs });
    return token;
  }

  /** The root key of a link that was not used before; null = there is none. */
  take(token: string): string | null {
    const digest = this.#system.digestSecret(token);
    const link = this.#open.get(digest);
    this.#open.delete(digest);
    return link !== undefined && this.#system.nowMs() < link.untilMs ? link.rootKeyId : null;
  }
}
