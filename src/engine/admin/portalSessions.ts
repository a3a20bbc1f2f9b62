import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import {
  ACTION_OPERATIONS,
  PORTAL_LINK_MS,
  PORTAL_SESSION_MS,
  type PortalAction,
  type PortalSessionRecord,
} from '../../core/portalSession.ts';
import { coversRight, mayNameAnyOwner, type Operation, rightTo } from '../../core/rights.ts';
import { makeSecret, OWN_PREFIXES } from '../../core/secret.ts';
import { auditEntry } from './audit.ts';
import { type Actor, requireOn, requireOwner, requireSomewhere } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { type IdentityReference, loadIdentity } from './identities.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { FoundPortalSession } from '../../storage/port/records.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';

const PREFIX = OWN_PREFIXES.portal;
const SECRET_BYTES = 24;
/** Changes that a customer may make in all its sessions that are stored. A session is stored for two days after its end. */
const MAX_CHANGES = 100;
/** Links and open pages that a customer may have at a time. One more ends the oldest. */
const MAX_PER_IDENTITY = 20;

export interface PortalPlaces {
  /** The address of the service for customers; null = it is not known. */
  readonly url: string | null;
  /** Origins that the page may lead back to. */
  readonly returnOrigins: readonly string[];
}

interface NewPortalSession {
  readonly apiId: string;
  readonly allow: readonly PortalAction[];
  /** As JSON. */
  readonly keyDefaults: string | null;
  readonly returnUrl: string | null;
}

/** A browser on the customers' page: whose it is, and who acts for it. */
export interface PortalVisit {
  readonly session: PortalSessionRecord;
  readonly identity: IdentityRecord;
  /** The root key that made the link, with the rights that the page needs and no others. */
  readonly actor: Actor;
}

/** Where a request of the page comes from. */
interface PortalOrigin {
  readonly origin: string | null;
  readonly requestId: string;
}

/**
 * Links to the customers' page. Each is for one customer and one api, and can do nothing that the root key behind it may not do. Nothing is
 * kept in memory: a session that ends, ends on every node at once.
 */
export class PortalSessions {
  readonly #context: AdminContext;
  readonly #places: PortalPlaces;

  constructor(context: AdminContext, places: PortalPlaces) {
    this.#context = context;
    this.#places = places;
  }

  /** Makes a link for one customer. */
  async create(
    actor: Actor,
    reference: IdentityReference,
    { apiId, allow, keyDefaults, returnUrl }: NewPortalSession,
  ): Promise<{ readonly id: string; readonly url: string; readonly untilMs: number }> {
    const { storage, system, changes } = this.#context;
    const { url } = this.#places;
    const ofApi = ['api.read_api', 'api.read_key', ...allow.flatMap((action) => ACTION_OPERATIONS[action])] as const;
    for (const operation of [...ofApi, 'identity.read_identity'] as const) requireSomewhere(actor, operation);
    for (const operation of ofApi) requireOn(actor, operation, apiId, 'api', apiId);
    if ((await storage.records.findApi(apiId)) === null) throw notFound('api', apiId);
    if (url === null) throw noAddress();
    if (returnUrl !== null) this.#requireReturn(returnUrl);
    const identity = await loadIdentity(this.#context, actor, 'identity.read_identity', reference);
    if (allow.includes('create')) requireOwner(actor, 'api.create_key', identity.id);
    const nowMs = storage.ledger.nowMs();
    const token = makeSecret(PREFIX, system.randomBytes(SECRET_BYTES));
    const session: PortalSessionRecord = {
      id: makeId('portal', nowMs, system.randomBytes(ID_RANDOM_BYTES)),
      digest: system.digestSecret(token),
      rootKeyId: actor.id,
      identityId: identity.id,
      apiId,
      allow,
      keyDefaults,
      returnUrl,
      createdAtMs: nowMs,
      openedAtMs: null,
      untilMs: nowMs + PORTAL_LINK_MS,
      changes: 0,
    };
    const writes: RecordWrite[] = [{ kind: 'insertPortalSession', session, most: MAX_PER_IDENTITY }];
    const defaults = keyDefaults === null ? null : (JSON.parse(keyDefaults) as object);
    const after = { externalId: identity.externalId, apiId, allow, returnUrl, keyDefaults: defaults };
    const entry = auditEntry(actor, { action: 'portal.createSession', target: session.id, before: null, after });
    await changes.applyOnce({ writes, accounts: [], entries: [entry] });
    // What is behind # reaches no server, and so no log.
    return { id: session.id, url: `${url}/portal#open=${token}`, untilMs: session.untilMs };
  }

  /** Opens a link, once. The secret belongs into the browser's cookie; the page that it had open before ends. */
  async open(
    token: string,
    formerSecret: string | null,
    origin: PortalOrigin,
  ): Promise<{ readonly secret: string; readonly visit: PortalVisit }> {
    const { storage, system, changes } = this.#context;
    const digest = system.digestSecret(token);
    const found = await storage.records.findPortalSession(digest);
    const nowMs = storage.ledger.nowMs();
    if (found === null || found.session.openedAtMs !== null || nowMs >= found.session.untilMs) throw usedLink();
    const secret = makeSecret(PREFIX, system.randomBytes(SECRET_BYTES));
    const opened = {
      sessionId: found.session.id,
      digest: system.digestSecret(secret),
      openedAtMs: nowMs,
      untilMs: nowMs + PORTAL_SESSION_MS,
    };
    const visit = await this.#visit({ ...found, session: { ...found.session, ...opened } }, origin);
    const former = formerSecret === null ? null : await this.#find(formerSecret);
    const writes: RecordWrite[] = [
      { kind: 'openPortalSession', expect: digest, ...opened },
      ...(former === null ? [] : [ended(former.session.id, nowMs)]),
    ];
    const entry = auditEntry(visit.actor, {
      action: 'portal.openSession',
      target: found.session.id,
      before: null,
      after: { externalId: visit.identity.externalId },
    });
    if (!(await changes.tryOnce({ writes, accounts: [], entries: [entry] }))) throw usedLink();
    return { secret, visit };
  }

  async authenticate(secret: string, origin: PortalOrigin): Promise<PortalVisit> {
    const found = await this.#find(secret);
    // The token of a link opens the page. It is no session.
    if (found === null || found.session.openedAtMs === null) throw pageHasEnded();
    return this.#visit(found, origin);
  }

  /** Counts a change before it is made. Throws when the customer has made too many. */
  async countChange({ session, identity }: PortalVisit): Promise<void> {
    const counted = { sessionId: session.id, identityId: identity.id, most: MAX_CHANGES };
    if (await this.#context.changes.tryOnce({ writes: [{ kind: 'countPortalChange', ...counted }], accounts: [] }))
      return;
    throw new AppError(
      'RATE_LIMITED',
      `You have changed keys ${MAX_CHANGES} times in two days, as often as you may. Try again tomorrow.`,
    );
  }

  /** Ends all links and pages of a customer. */
  async endAll(actor: Actor, reference: IdentityReference): Promise<number> {
    const { storage, changes } = this.#context;
    const identity = await loadIdentity(this.#context, actor, 'identity.update_identity', reference);
    const nowMs = storage.ledger.nowMs();
    const live = await storage.records.listPortalSessions(identity.id, nowMs);
    const facts = { before: { sessions: live.length }, after: null };
    const entry = auditEntry(actor, { action: 'portal.endSessions', target: identity.id, ...facts });
    if (live.length === 0) return 0;
    await changes.applyOnce({ writes: live.map((id) => ended(id, nowMs)), accounts: [], entries: [entry] });
    return live.length;
  }

  /** The customer leaves the page. */
  async leave({ session, identity, actor }: PortalVisit): Promise<void> {
    const nowMs = this.#context.storage.ledger.nowMs();
    const facts = { before: { externalId: identity.externalId }, after: null };
    const entry = auditEntry(actor, { action: 'portal.leaveSession', target: session.id, ...facts });
    await this.#context.changes.applyOnce({ writes: [ended(session.id, nowMs)], accounts: [], entries: [entry] });
  }

  #find(secret: string): Promise<FoundPortalSession | null> {
    const { storage, system } = this.#context;
    return storage.records.findPortalSession(system.digestSecret(secret));
  }

  #requireReturn(returnUrl: string): void {
    const { returnOrigins } = this.#places;
    const { origin, protocol } = new URL(returnUrl);
    if (/^https?:$/.test(protocol) && (returnOrigins.includes(origin) || returnOrigins.includes('*'))) return;
    const message = `returnUrl must begin with an origin that KEYSTILE_PORTAL_RETURN_ORIGINS names, got ${repeatable(returnUrl)}`;
    throw new AppError('BAD_REQUEST', message, [{ path: 'returnUrl', message }]);
  }

  async #visit({ session, rootKey }: FoundPortalSession, origin: PortalOrigin): Promise<PortalVisit> {
    const { storage } = this.#context;
    const nowMs = storage.ledger.nowMs();
    if (nowMs >= session.untilMs || rootKey.revokedAtMs !== null || nowMs >= (rootKey.expiresAtMs ?? Infinity))
      throw pageHasEnded();
    const identity = await storage.records.findIdentityById(session.identityId);
    if (identity === null) throw pageHasEnded();
    if (!identity.enabled) throw new AppError('UNAUTHORIZED', 'Your access is disabled. Ask the provider of this API.');
    const rights = portalRights(session, rootKey.rights);
    const actor: Actor = {
      id: rootKey.id,
      rights,
      untilMs: rootKey.expiresAtMs,
      ...origin,
      via: 'portal',
      onlyFor: identity.id,
    };
    return { session, identity, actor };
  }
}

function noAddress(): AppError {
  const why = 'A portal link begins with the public address of this service, which is not set.';
  return new AppError('PRECONDITION_FAILED', `${why} Set KEYSTILE_PUBLIC_URL.`);
}

function usedLink(): AppError {
  const why = 'This link was opened before, or has expired.';
  return new AppError('UNAUTHORIZED', `${why} Go back to the page where you found it to get a new one.`);
}

/** The write that ends a session. */
function ended(sessionId: string, endedAtMs: number): RecordWrite {
  return { kind: 'endPortalSession', sessionId, endedAtMs };
}

function pageHasEnded(): AppError {
  return new AppError('UNAUTHORIZED', 'This page has expired. Go back to where you came from and open it again.');
}

/** Roles and permissions that new keys are to have are those of the link, not of the customer. */
const GRANTING: readonly Operation[] = [
  'rbac.create_role',
  'rbac.create_permission',
  'rbac.add_role_to_key',
  'rbac.add_permission_to_key',
];

/** The rights that the page needs for one customer and one api, as far as the root key has them by now. */
function portalRights(
  { apiId, identityId, allow }: Pick<PortalSessionRecord, 'apiId' | 'identityId' | 'allow'>,
  rights: readonly string[],
): string[] {
  const ofApi: Operation[] = ['api.read_api', 'api.read_key', 'api.read_analytics'];
  const wanted = [
    ...[...ofApi, ...allow.flatMap((action) => ACTION_OPERATIONS[action])].map((each) => rightTo(each, apiId)),
    rightTo('identity.read_identity', identityId),
  ];
  const naming = rightTo('identity.update_identity', identityId);
  if (allow.includes('create')) wanted.push(naming, ...GRANTING.map((each) => rightTo(each, '*')));
  // A root key that may name any owner may name this one.
  const mayName = mayNameAnyOwner(rights, 'api.create_key');
  return [...new Set(wanted)].filter((right) => coversRight(rights, right) || (mayName && right === naming));
}
