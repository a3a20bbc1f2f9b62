import { heldCredits } from '../../core/plan.ts';
import { tellsBelow } from '../../core/alerts.ts';
import type { Alerts, CreditsRecord, IdentityRecord, PlanRecord } from '../../core/records.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { EntryCredits, IdentityTraits, PlanEntry, PlanSlot } from './planEntry.ts';
import { asConfigured, orNone, withGiven } from './limitLists.ts';

/** Instead of an account: there is none. */
const NONE = -1;

/** Parts of an answer about a key of an identity. */
export interface IdentityWireText {
  readonly ownerId: string;
  readonly identity: string;
}

/** Where the keys of an identity find its newest entry. */
export class IdentitySlot {
  readonly id: string;
  #entry: IdentityEntry | null = null;

  constructor(id: string) {
    this.id = id;
  }

  /** null: its keys must be looked up again. */
  get entry(): IdentityEntry | null {
    return this.#entry;
  }

  replace(entry: IdentityEntry | null): void {
    if (this.#entry !== null) this.#entry.isReplaced = true;
    this.#entry = entry;
  }
}

/**
 * An identity as verification needs it, with what its plan gives. All its cached keys share one object, which is replaced as a whole when
 * the identity or its plan changes.
 *
 * Among 100,000 identities, a verification waits for the memory of this one. So what every verification reads comes first, in one or two
 * lines of the processor's cache, and identities of a plan that have nothing else of their own share their traits.
 */
export class IdentityEntry {
  readonly #traits: IdentityTraits;
  /** The account of its credits; NONE = it has no credits. */
  readonly #account: number;
  readonly revision: number;
  /** The account of the window for the first limit of its plan. */
  #firstWindow = NONE;
  /** The end of an answer about a usual key: one that is enabled, does not expire and has nothing to describe. null = not made yet. */
  usualEnd: string | null = null;
  /** The texts about this identity have one byte for each character. */
  isAscii = false;
  /** The identity has changed, or must be read again. */
  isReplaced = false;
  /** Where its local limits are counted; null = not known yet. */
  local: LocalOwner | null = null;
  /** The texts for answers about other keys. null = not made yet. */
  wire: IdentityWireText | null = null;
  /** The accounts of windows for further limits of its plan, in their order. */
  #furtherWindows: (number | undefined)[] | null = null;
  readonly record: IdentityRecord;
  /** Where its keys find the newest entry. */
  readonly slot: IdentitySlot;

  /** The plan must have been read. */
  constructor(record: IdentityRecord, planSlot: PlanSlot | null = null, slot = new IdentitySlot(record.id)) {
    this.#traits = traitsOf(record, planSlot);
    this.#account = record.credits?.account ?? NONE;
    this.revision = record.revision;
    this.record = record;
    this.slot = slot;
  }

  /** Neither the identity nor its plan has changed since. A plan that must be read has. */
  get isPresent(): boolean {
    const { plan, planSlot } = this.#traits;
    return !this.isReplaced && (planSlot === null || (planSlot.entry !== null && planSlot.entry === plan));
  }

  get id(): string {
    return this.record.id;
  }

  get externalId(): string {
    return this.record.externalId;
  }

  get meta(): string | null {
    return this.record.meta;
  }

  get enabled(): boolean {
    return this.#traits.enabled;
  }

  /** The plan that is part of it; null = none. */
  get plan(): PlanEntry | null {
    return this.#traits.plan;
  }

  /** Where its plan is found when it has changed. */
  get planSlot(): PlanSlot | null {
    return this.#traits.planSlot;
  }

  /** From this instant on it is on another plan. Infinity = it stays. */
  get planMovesAtMs(): number {
    return this.#traits.planMovesAtMs;
  }

  get credits(): EntryCredits | null {
    const { credits } = this.#traits;
    if (credits === null) return null;
    const { refill, metered, tellsBelow: below } = credits;
    const held = { account: this.#account, refill, tellsBelow: below };
    return metered === undefined ? held : { ...held, metered };
  }

  /** null = none. */
  get limits(): readonly AppliedLimit[] | null {
    return this.#traits.limits;
  }

  /** Those of its limits that apply to every verification of its keys; null = none. */
  get alwaysApplied(): readonly AppliedLimit[] | null {
    return this.#traits.alwaysApplied;
  }

  /** The account of a window that was opened for a strict limit of its plan; null = it must be asked for. */
  windowOf(limit: AppliedLimit): number | null {
    const index = this.#indexOf(limit);
    if (index > 0) return this.#furtherWindows?.[index] ?? null;
    return index < 0 || this.#firstWindow === NONE ? null : this.#firstWindow;
  }

  keepWindow(limit: AppliedLimit, account: number): void {
    const index = this.#indexOf(limit);
    if (index === 0) this.#firstWindow = account;
    else if (index > 0) (this.#furtherWindows ??= [])[index] = account;
  }

  /** -1: it is no limit of the plan. A limit with the cost of a request is another object with every request. */
  #indexOf(limit: AppliedLimit): number {
    return this.#traits.plan?.forIdentities.all?.indexOf(limit) ?? -1;
  }
}

function traitsOf(record: IdentityRecord, planSlot: PlanSlot | null): IdentityTraits {
  const plan = planSlot?.entry ?? null;
  const name = plan === null ? null : sharedName(record);
  if (plan === null || name === null) return makeTraits(record, planSlot);
  const known = plan.traits.get(name);
  if (known !== undefined) return known;
  const made = makeTraits(record, planSlot);
  plan.traits.set(name, made);
  return made;
}

/** Identities of a plan with the same name have the same traits; null = it has something of its own. */
function sharedName({ enabled, credits, limits, alerts, planMove }: IdentityRecord): string | null {
  if (limits.length > 0 || alerts !== null || planMove !== null || (credits?.refill ?? null) !== null) return null;
  return `${enabled} ${credits === null ? 'no credits' : credits.metered === true ? 'metered' : 'credits'}`;
}

function makeTraits(record: IdentityRecord, planSlot: PlanSlot | null): IdentityTraits {
  const plan = planSlot?.entry ?? null;
  const own = record.limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  const always = orNone(own.filter((_, i) => record.limits[i]?.autoApply !== false));
  return {
    enabled: record.enabled && (plan === null || plan.record !== null),
    plan,
    planSlot,
    planMovesAtMs: record.planMove?.atMs ?? Infinity,
    credits: withoutAccount(entryCredits(record, plan?.record ?? null)),
    limits: withGiven(orNone(own), plan?.forIdentities.all ?? null),
    alwaysApplied: withGiven(always, plan?.forIdentities.always ?? null, orNone(own)),
  };
}

/** The credits of a holder under its own rules and those of its plan. */
export function entryCredits(
  { credits, alerts }: { readonly credits: CreditsRecord | null; readonly alerts: Alerts | null },
  plan: PlanRecord | null,
): EntryCredits | null {
  const held = heldCredits(credits, plan);
  return held === null ? null : { ...held, tellsBelow: held.metered ? 0 : tellsBelow(alerts, plan) };
}

function withoutAccount(credits: EntryCredits | null): IdentityTraits['credits'] {
  if (credits === null) return null;
  const { account: _account, ...shared } = credits;
  return shared;
}
