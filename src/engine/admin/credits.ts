import { METERED_ZERO } from '../../core/accountBook.ts';
import type { AccountChange } from '../../core/accountChange.ts';
import { MAX_COUNT, MAX_LIVE_GRANTS } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { heldCredits } from '../../core/plan.ts';
import { leftOf } from '../../core/expiringCredits.ts';
import type { CreditCall, HeldCredits } from '../../core/records.ts';
import { auditEntry } from './audit.ts';
import type { Actor } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { readCredits } from './change/counters.ts';
import { loadIdentity } from './identities.ts';
import { idsAround, KeyReader } from './readKeys.ts';
import type { HolderReference } from './plans.ts';
import { planOf } from '../planOf.ts';
import type { Change } from '../../storage/port/storage.ts';

interface GrantInput {
  readonly amount: number;
  readonly expiresAtMs: number | null;
  readonly reason: string;
  readonly idempotencyId: string;
}

interface AdjustInput {
  readonly by: number;
  readonly reason: string;
  readonly idempotencyId: string | null;
}

interface CreditAnswer {
  /** Of the first call, when it was made before under the same idempotency key. */
  readonly call: CreditCall;
  readonly replayed: boolean;
  /** The balance now. */
  readonly remaining: number;
}

/** What this class records. */
type Call = CreditCall & { readonly kind: 'grant' | 'adjust' };

/** A key or identity whose credits change, and how an error and the audit log name it. */
interface Holder {
  readonly id: string;
  readonly kind: 'key' | 'identity';
  readonly name: string;
  readonly credits: HeldCredits | null;
  readonly revision: number;
  readonly ids: Readonly<Record<string, string>>;
}

const ID_PREFIX = { grant: 'grant', adjust: 'adj' } as const;

/** Grants and adjusts the credits of keys and identities. No record changes, so no cache is dropped. */
export class CreditAdmin {
  readonly #context: AdminContext;
  readonly #keys: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#keys = new KeyReader(context);
  }

  /** Adds credits, once under an idempotency key. With an expiry they are spent before those that do not expire. */
  grant(actor: Actor, holder: HolderReference, input: GrantInput): Promise<CreditAnswer> {
    const { amount, expiresAtMs, reason, idempotencyId } = input;
    return this.#apply(actor, holder, { kind: 'grant', amount, expiresAtMs, reason, idempotencyId });
  }

  /** Adds to the balance, or takes from it. It never goes below 0. */
  adjust(actor: Actor, holder: HolderReference, { by, reason, idempotencyId }: AdjustInput): Promise<CreditAnswer> {
    return this.#apply(actor, holder, { kind: 'adjust', amount: by, expiresAtMs: null, reason, idempotencyId });
  }

  #apply(actor: Actor, reference: HolderReference, wanted: Omit<Call, 'id' | 'owner' | 'atMs'>): Promise<CreditAnswer> {
    const { storage, system, changes } = this.#context;
    return changes.apply(async () => {
      const holder = await this.#load(actor, reference, wanted.kind);
      const nowMs = storage.ledger.nowMs();
      const id = makeId(ID_PREFIX[wanted.kind], nowMs, system.randomBytes(ID_RANDOM_BYTES));
      const call: Call = { ...wanted, id, owner: holder.id, atMs: nowMs };
      const earlier =
        call.idempotencyId === null ? null : await storage.statements.findCreditCall(holder.id, call.idempotencyId);
      if (earlier !== null) return this.#replay(holder, call, earlier);
      const account = await this.#accountChange(holder, call, nowMs);
      return {
        change: written(actor, holder, call, account),
        answer: (done) => ({ call, replayed: false, remaining: shown(holder.credits, done.accounts[0]?.value ?? 0) }),
      };
    });
  }

  async #replay(holder: Holder, call: CreditCall, earlier: CreditCall) {
    if (!isSameCall(call, earlier)) {
      const what = earlier.kind === 'assign' ? 'an assignment' : `a ${earlier.kind} of ${earlier.amount}`;
      throw new AppError('CONFLICT', `This idempotency key was used for ${what} (${earlier.id}). Use a new one.`);
    }
    const { storage, refills } = this.#context;
    const [state] = await readCredits(this.#context, [holder]);
    const remaining =
      state === undefined ? 0 : refills.balance(state, holder.credits?.refill ?? null, storage.ledger.nowMs());
    const change: Change = { writes: [], accounts: [] };
    const balance = shown(holder.credits, remaining);
    return { change, answer: () => ({ call: earlier, replayed: true, remaining: balance }) };
  }

  async #accountChange(holder: Holder, call: CreditCall, nowMs: number): Promise<AccountChange> {
    const { refills } = this.#context;
    if (holder.credits === null) {
      const how = holder.kind === 'key' ? 'keys.updateKey' : 'identities.updateIdentity';
      throw new AppError('PRECONDITION_FAILED', `${holder.name} has no credits. Set remaining first (${how}).`);
    }
    const { account, refill, metered } = holder.credits;
    if (metered && call.kind === 'grant') {
      throw new AppError(
        'PRECONDITION_FAILED',
        `${holder.name} is metered: it has no balance, so credits cannot be granted.`,
      );
    }
    const [state] = await readCredits(this.#context, [holder]);
    if (call.expiresAtMs !== null && call.expiresAtMs <= nowMs) {
      throw new AppError('BAD_REQUEST', `expiresAt must be in the future, got ${call.expiresAtMs} (now is ${nowMs}).`);
    }
    const present = state === undefined ? null : refills.brought(state, refill, nowMs);
    const pockets = present?.pockets ?? null;
    const liveGrants = pockets === null ? 0 : leftOf(pockets, present?.state.value ?? 0).length;
    if (call.expiresAtMs !== null && liveGrants >= MAX_LIVE_GRANTS) {
      const bound = `has ${MAX_LIVE_GRANTS} grants that have not expired, which is the maximum`;
      throw new AppError('PRECONDITION_FAILED', `${holder.name} ${bound}.`);
    }
    const atMost = MAX_COUNT - (present?.pockets?.held ?? 0) - call.amount;
    if ((present?.state.value ?? 0) > atMost) {
      const most = shown(holder.credits, MAX_COUNT);
      throw new AppError('PRECONDITION_FAILED', `${holder.name} would have more than ${most} credits.`);
    }
    const plan = refills.planOrNull(refill, account, nowMs);
    const { id: owner, revision } = holder;
    // Others may add credits at the same time: then the change is stale, and made again.
    const bound = call.amount > 0 ? { atMost } : {};
    const common = { account, owner, expect: revision, refill: plan, revision, ...bound };
    if (call.kind === 'adjust') return { ...common, add: call.amount };
    const { amount, expiresAtMs } = call;
    return { ...common, grant: { id: call.id, amount, expiresAtMs } };
  }

  async #load(actor: Actor, reference: HolderReference, kind: Call['kind']): Promise<Holder> {
    const { records } = this.#context.storage;
    if ('keyId' in reference) {
      const operation = kind === 'grant' ? 'api.grant_credits' : 'api.adjust_credits';
      const { key, identity } = await this.#keys.load(actor, operation, reference.keyId);
      const { id, revision } = key;
      const credits = heldCredits(key.credits, await planOf(records, key));
      return { id, kind: 'key', name: `The key ${id}`, credits, revision, ids: idsAround(key, identity) };
    }
    const operation = kind === 'grant' ? 'identity.grant_credits' : 'identity.adjust_credits';
    const identity = await loadIdentity(this.#context, actor, operation, reference);
    const { id, externalId, revision } = identity;
    const credits = heldCredits(identity.credits, await planOf(records, identity));
    const name = `The customer ${repeatable(externalId)}`;
    return { id, kind: 'identity', name, credits, revision, ids: { externalId } };
  }
}

/** What is metered has a balance below 0: so much was used. */
function shown(credits: HeldCredits | null, value: number): number {
  return credits?.metered ? value - METERED_ZERO : value;
}

function isSameCall(a: CreditCall, b: CreditCall): boolean {
  return a.kind === b.kind && a.amount === b.amount && a.expiresAtMs === b.expiresAtMs && a.reason === b.reason;
}

function written(actor: Actor, { id, kind, ids, credits }: Holder, call: CreditCall, account: AccountChange): Change {
  const { amount, expiresAtMs, reason } = call;
  const facts = call.kind === 'grant' ? { grantId: call.id, amount, expiresAt: expiresAtMs } : { by: amount };
  const counter = credits?.metered ? {} : { counter: 0 };
  const action = `${kind}.${call.kind === 'grant' ? 'grantCredits' : 'adjustCredits'}`;
  const entry = auditEntry(actor, { action, target: id, before: null, after: { ...facts, reason }, ids, ...counter });
  return { writes: [{ kind: 'insertCreditCall', call }], accounts: [account], entries: [entry] };
}
