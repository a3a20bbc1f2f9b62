import { notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { RootKeyRecord, SessionRecord } from '../../../core/records.ts';
import { holdsRight } from '../../../core/rights.ts';
import { makeSecret } from '../../../core/secret.ts';
import { sessionEnd } from '../../../core/sessionTimes.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import type { System } from '../../system.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { requireOn, requireSomewhere } from '../change/requireRight.ts';
import type { ApplyChange } from '../change/applyChange.ts';

const PREFIX = 'session';
const SECRET_BYTES = 24;
/** Sessions that a root key may have at a time. One more ends the oldest. */
const MAX_PER_ROOT_KEY = 50;
/** Sessions that are listed at the most. */
const MAX_LISTED = 1000;

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

  /** Its secret belongs into the browser's cookie, and nowhere else. */
  async signIn(rootKey: RootKeyRecord, actor: Actor, browser: string | null): Promise<{ id: string; secret: string }> {
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
    const own = (await this.#live()).filter(({ rootKeyId }) => rootKeyId === rootKey.id);
    const tooMany = own.slice(MAX_PER_ROOT_KEY - 1);
    const writes: RecordWrite[] = [
      ...tooMany.map(({ id: sessionId }) => ({ kind: 'endSession', sessionId }) as const),
      { kind: 'insertSession', session },
    ];
    const after = { rootKeyId: rootKey.id, browser };
    const entry = auditEntry(actor, { action: 'session.create', target: session.id, before: null, after });
    await this.#changes.applyOnce({ writes, accounts: [], entries: [entry] });
    return { id: session.id, secret };
  }

  /** The sessions of the root keys that the actor may read; the newest first. */
  async list(actor: Actor): Promise<readonly SessionRecord[]> {
    requireSomewhere(actor, 'root.read_root_key');
    return (await this.#live()).filter(({ rootKeyId }) => holdsRight(actor.rights, 'root.read_root_key', rootKeyId));
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

  #live(): Promise<readonly SessionRecord[]> {
    return this.#storage.records.listSessions(this.#storage.ledger.nowMs(), MAX_LISTED);
  }
}
