import { AppError, notFound, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { BLANK_IDENTITY, type IdentityRecord } from '../../../core/records.ts';
import type { Operation } from '../../../core/rights.ts';
import { requireEverywhere, requireOn } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEvent } from '../audit/auditEvent.ts';
import {
  creditsIndex,
  closeAccounts,
  type CounterContext,
  newAccountsNeeded,
  patchCounters,
} from '../change/counters.ts';
import { auditedCounters } from '../keys/auditedKey.ts';
import type { CounterPatch } from '../../../core/counterPatch.ts';
import { type CreditsView, viewCredits } from '../keys/keyView.ts';
import type { AdminContext } from '../change/adminContext.ts';

export interface IdentityPatch extends CounterPatch {
  readonly meta?: string | null;
}

export type IdentityReference = { readonly id: string } | { readonly externalId: string };

/** An identity as a reader sees it: the record and its balance. */
export interface IdentityView extends CreditsView {
  readonly identity: IdentityRecord;
}

export class IdentityAdmin {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async create(actor: Actor, externalId: string, patch: IdentityPatch): Promise<string> {
    const { storage, system, changes } = this.#context;
    requireEverywhere(actor, 'identity.create_identity');
    return changes.apply(async () => {
      if ((await storage.records.findIdentity(externalId)) !== null) {
        throw new AppError('CONFLICT', `An identity with the externalId ${repeatable(externalId)} exists already.`);
      }
      const context = await this.#counterContext(patch);
      const id = makeId('id', context.nowMs, system.randomBytes(ID_RANDOM_BYTES));
      const blank: IdentityRecord = { ...BLANK_IDENTITY, id, externalId, createdAtMs: context.nowMs };
      const { counters, accounts } = patchCounters(blank, patch, context);
      const { credits, limits, revision } = counters;
      const identity = { ...blank, credits, limits, revision, meta: patch.meta ?? null };
      const after = withRemaining(auditedIdentity(identity), patch);
      const event = auditEvent(actor, { action: 'identity.create', target: id, before: null, after });
      return {
        change: { writes: [{ kind: 'insertIdentity', identity }], accounts, events: [event] },
        answer: () => id,
      };
    });
  }

  async get(actor: Actor, reference: IdentityReference): Promise<IdentityView> {
    return this.#view(await this.#load(actor, 'identity.read_identity', reference));
  }

  async list(
    actor: Actor,
    limit: number,
    after: string | null,
  ): Promise<{ identities: IdentityView[]; total: number; cursor: string | null }> {
    requireEverywhere(actor, 'identity.read_identity');
    const page = await this.#context.storage.records.listIdentities({ limit, after });
    return { identities: await this.#views(page.items), total: page.total, cursor: page.cursor };
  }

  async update(actor: Actor, reference: IdentityReference, patch: IdentityPatch): Promise<IdentityView> {
    const identity = await this.#context.changes.apply(async () => {
      const before = await this.#load(actor, 'identity.update_identity', reference);
      // An empty patch changes nothing and writes no audit event.
      if (Object.keys(patch).length === 0) return { change: { writes: [], accounts: [] }, answer: () => before };
      const context = await this.#counterContext(patch);
      const { counters, accounts } = patchCounters(before, patch, context);
      const meta = patch.meta === undefined ? before.meta : patch.meta;
      const { credits, limits, revision } = counters;
      const after: IdentityRecord = { ...before, credits, limits, revision, meta, updatedAtMs: context.nowMs };
      const event = auditEvent(actor, {
        action: 'identity.update',
        target: before.id,
        before: auditedIdentity(before),
        after: auditedIdentity(after),
        counter: patch.remaining === undefined ? -1 : creditsIndex(accounts, before, after),
      });
      return {
        change: {
          writes: [{ kind: 'updateIdentity', identity: after, expect: before.revision }],
          accounts,
          events: [event],
        },
        answer: () => after,
      };
    });
    return this.#view(identity);
  }

  /** The keys of the identity stay, without an identity. */
  async delete(actor: Actor, id: string): Promise<void> {
    await this.#context.changes.apply(async () => {
      const before = await this.#load(actor, 'identity.delete_identity', { id });
      const facts = auditedIdentity(before);
      const event = auditEvent(actor, { action: 'identity.delete', target: id, before: facts, after: null });
      return {
        change: {
          writes: [{ kind: 'removeIdentity', identityId: id, expect: before.revision }],
          accounts: closeAccounts(before),
          events: [event],
        },
        answer: () => undefined,
      };
    });
  }

  async #load(actor: Actor, operation: Operation, reference: IdentityReference): Promise<IdentityRecord> {
    const { records } = this.#context.storage;
    const found =
      'id' in reference
        ? await records.findIdentityById(reference.id)
        : await records.findIdentity(reference.externalId);
    const asked = 'id' in reference ? reference.id : null;
    const what = asked === null ? 'identity with this externalId' : 'identity';
    requireOn(actor, operation, found?.id ?? '', what, asked);
    if (found === null) throw notFound(what, asked);
    return found;
  }

  async #view(identity: IdentityRecord): Promise<IdentityView> {
    return (await this.#views([identity]))[0] as IdentityView;
  }

  async #views(identities: readonly IdentityRecord[]): Promise<IdentityView[]> {
    const { storage, refills } = this.#context;
    const accounts = identities.flatMap(({ credits }) => credits?.account ?? []);
    const states = accounts.length === 0 ? [] : await storage.ledger.read(accounts);
    const stateOf = new Map(accounts.map((account, i) => [account, states[i]]));
    const nowMs = storage.ledger.nowMs();
    return identities.map((identity) => {
      const state = identity.credits === null ? undefined : stateOf.get(identity.credits.account);
      return { identity, ...viewCredits(identity.credits, state, refills, nowMs) };
    });
  }

  async #counterContext(patch: CounterPatch): Promise<CounterContext> {
    const { storage, refills, defaultTimezone } = this.#context;
    const freeAccounts = [...(await storage.ledger.reserveAccounts(newAccountsNeeded(patch)))];
    return { refills, nowMs: storage.ledger.nowMs(), defaultTimezone, freeAccounts };
  }
}

function auditedIdentity(identity: IdentityRecord): Record<string, unknown> {
  const { externalId, meta } = identity;
  return { externalId, meta: meta === null ? {} : (JSON.parse(meta) as object), ...auditedCounters(identity) };
}

function withRemaining(facts: Record<string, unknown>, { remaining }: CounterPatch): Record<string, unknown> {
  return remaining === undefined ? facts : { ...facts, remaining };
}
