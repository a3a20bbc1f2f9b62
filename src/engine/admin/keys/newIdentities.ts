import { AppError, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { nearestWord } from '../../../basics/nearestName.ts';
import { heldMaxKeys } from '../../../core/plan.ts';
import { holdsRight } from '../../../core/rights.ts';
import { identityWords } from '../../../core/search.ts';
import { auditEntry } from '../audit.ts';
import type { AdminContext } from '../change/adminContext.ts';
import type { Draft } from '../change/applyChange.ts';
import { openedByPlan } from '../change/counters.ts';
import type { Actor } from '../change/requireRight.ts';
import { planOf } from '../../planOf.ts';
import { BLANK_IDENTITY, type IdentityRecord } from '../../../model/identities.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';

/** Identities on each side of a name that are looked at for one that was meant. */
const NEIGHBOURS = 50;
/** For a longer name, none is looked for: there are many names near to it, and comparing them takes long. */
const MAX_NEAR_LENGTH = 64;

/** Makes identities: by themselves, and for keys whose owner is new. */
export class NewIdentities {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** Drafts the owner that a key names for the first time. Its keys are unlimited, unless the default plan says otherwise. */
  async draftOwner(draft: Draft, actor: Actor, externalId: string): Promise<IdentityRecord> {
    const { storage, system } = this.#context;
    const nowMs = storage.ledger.nowMs();
    const id = makeId('id', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const blank: IdentityRecord = { ...BLANK_IDENTITY, id, externalId, createdAtMs: nowMs };
    const identity = await this.onPlan(draft, blank, await this.defaultPlan());
    draft.writes.push({ kind: 'insertIdentity', identity, words: identityWords(identity) });
    const after = { externalId, meta: {}, ...(identity.planId === null ? {} : { planId: identity.planId }) };
    const ids = { externalId };
    draft.entries.push(auditEntry(actor, { action: 'identity.create', target: id, before: null, after, ids }));
    return identity;
  }

  /** The plan that KEYSTILE_DEFAULT_PLAN names; null = none is configured. A plan that is missing gives no customer unlimited keys. */
  async defaultPlan(): Promise<PlanRecord | null> {
    const { defaultPlan: named } = this.#context.newIdentities;
    if (named === null) return null;
    const plan = await this.#findPlan(named);
    if (plan !== null) return plan;
    const what = `KEYSTILE_DEFAULT_PLAN names the plan ${repeatable(named)}, which does not exist`;
    throw new AppError('PRECONDITION_FAILED', `${what}. Create that plan, or correct the setting.`);
  }

  /** There is the plan that KEYSTILE_DEFAULT_PLAN names, or the setting names none. */
  async hasDefaultPlan(): Promise<boolean> {
    const { defaultPlan: named } = this.#context.newIdentities;
    return named === null || (await this.#findPlan(named)) !== null;
  }

  /** By its id, or else by its name. */
  async #findPlan(named: string): Promise<PlanRecord | null> {
    const { records } = this.#context.storage;
    return (await records.findPlan(named)) ?? records.findPlanByName(named);
  }

  /** The identity that is about to be inserted, on this plan, with the credits of the plan unless it has its own. */
  async onPlan(draft: Draft, identity: IdentityRecord, plan: PlanRecord | null): Promise<IdentityRecord> {
    if (plan === null) return identity;
    const isJoined = draft.writes.some((write) => write.kind === 'joinPlan' && write.planId === plan.id);
    if (!isJoined) draft.writes.push({ kind: 'joinPlan', planId: plan.id, expect: plan.revision });
    const onIt = { ...identity, planId: plan.id, revision: 1 };
    if (identity.credits !== null) return onIt;
    const { ledger } = this.#context.storage;
    const opened = openedByPlan(plan, { id: identity.id, revision: 0 }, ledger.nowMs());
    if (opened === null) return onIt;
    const { credits, account } = opened((await ledger.reserveAccounts(1))[0] ?? 0);
    draft.accounts.push(account);
    return { ...onIt, credits };
  }

  /** There is no identity of this name, and none is to be made. `explains`: names one that is near to whoever may read it. */
  async unknown(actor: Actor, externalId: string, explains: boolean): Promise<AppError> {
    const near = explains && externalId.length <= MAX_NEAR_LENGTH ? await this.#near(actor, externalId) : null;
    const hint = near === null ? '' : ` Did you mean ${repeatable(near)}?`;
    const rule = this.#context.newIdentities.mustExist ? 'KEYSTILE_IDENTITIES_MUST_EXIST' : 'mustExist';
    const unknown = `There is no customer with the externalId ${repeatable(externalId)}.${hint}`;
    const message = `${unknown} With ${rule}, a new key creates no customer: use identities.createIdentity.`;
    return new AppError('NOT_FOUND', message, [{ path: 'externalId', message }]);
  }

  async #near(actor: Actor, externalId: string): Promise<string | null> {
    const { records } = this.#context.storage;
    const found = [
      ...(await records.findIdentities(misspelledFrom(externalId))),
      ...(await records.listNeighbours(externalId, NEIGHBOURS)),
    ];
    const readable = found.filter(({ id }) => holdsRight(actor.rights, 'identity.read_identity', id));
    return nearestWord(
      externalId,
      readable.map((identity) => identity.externalId),
    );
  }
}

/** The text with one character less, two of them swapped, or in lower case. What is near to it otherwise is mostly its neighbour. */
function misspelledFrom(text: string): string[] {
  const less = Array.from(text, (_, i) => text.slice(0, i) + text.slice(i + 1));
  const swapped = Array.from(
    text.slice(1),
    (next, i) => `${text.slice(0, i)}${next}${text.charAt(i)}${text.slice(i + 2)}`,
  );
  return [...new Set([...less, ...swapped, text.toLowerCase()])].filter(
    (each) => each !== '' && each !== text && each.isWellFormed(),
  );
}

/**
 * After a key of this identity was drafted: refuses it when the identity has as many keys as it may have. The change does so again when it
 * is carried out, because other keys may join at the same time.
 */
export async function joinIdentity(records: Records, draft: Draft, identity: IdentityRecord): Promise<void> {
  const { id } = identity;
  const maxKeys = heldMaxKeys(identity, await planOf(records, identity));
  if (maxKeys !== null) await requireSpace(records, draft, identity, maxKeys);
  // Nobody else knows an identity that this change creates.
  const isNew = draft.writes.some((write) => write.kind === 'insertIdentity' && write.identity.id === id);
  if (!isNew) draft.writes.push(joinOf(identity, maxKeys));
}

/** `maxKeys`: its own bound or that of its plan. */
export function joinOf({ id, revision: expect }: IdentityRecord, maxKeys: number | null): RecordWrite {
  return { kind: 'joinIdentity', identityId: id, expect, maxKeys };
}

async function requireSpace(
  records: Records,
  { writes }: Draft,
  identity: IdentityRecord,
  maxKeys: number,
): Promise<void> {
  const { id } = identity;
  const [count = 0] = await records.countKeysOfIdentities([id]);
  const drafted = writes.filter(
    (write) => (write.kind === 'insertKey' || write.kind === 'updateKey') && write.key.identityId === id,
  );
  if (count + drafted.length <= maxKeys) return;
  throw tooManyKeys(identity, { maxKeys, count, more: drafted.length });
}

export function tooManyKeys(
  { externalId }: IdentityRecord,
  { maxKeys, count, more }: { maxKeys: number; count: number; more: number },
): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `The customer ${repeatable(externalId)} already has ${count} of ${maxKeys} keys; ${more} more would be too many. Delete unused keys, or raise maxKeys.`,
  );
}
