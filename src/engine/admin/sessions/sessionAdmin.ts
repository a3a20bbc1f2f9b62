import { AppError, notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { SessionRecord } from '../../../core/records.ts';
import type { RootKeyRecord } from '../../../model/access.ts';
import { idsWithRight } from '../../../core/rights.ts';
import { makeSecret, OWN_PREFIXES } from '../../../core/secret.ts';
import { sessionEnd } from '../../../core/sessionTimes.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import type { System } from '../../system.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { requireOn, requireSomewhere } from '../change/requireRight.ts';
import type { ApplyChange } from '../change/applyChange.ts';

const PREFIX = OWN_PREFIXES.session;
const SECRET_BYTES = 24;
/** Sessions that a root key may have at a time. One more ends the oldest. */
const MAX_PER_ROOT_KEY = 50;
/** Sessions that are listed at the most. */
const MAX_LISTED = 1000;

/** How a browser signs in. */
export interface SignIn {
  /** How it names itself. */
  readonly browser: string | null;
  readonly by: 'root key' | 'link';
  /** Of the session that it has; null = none. */
  readonly formerSecret: string | null;
}

/** Signs browsers in and out. */
export class SessionAdmin {
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
