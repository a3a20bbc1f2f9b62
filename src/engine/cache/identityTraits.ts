import { tellsBelow } from '../../core/alerts.ts';
import { heldCredits } from '../../core/plan.ts';
import type { Alerts, CreditsRecord } from '../../core/records.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { PlanRecord } from '../../model/plans.ts';
import { asConfigured, orNone, withGiven } from './limitLists.ts';
import type { EntryCredits, IdentityTraits, PlanSlot } from './planEntry.ts';

type TraitFields = Pick<IdentityRecord, 'enabled' | 'credits' | 'limits' | 'alerts' | 'planMove'>;

/** Kinds from here on are those of disabled identities. */
const DISABLED = 3;
/** By the last part of a kind. Which account it is does not matter to the traits. */
const CREDITS_OF_KIND: readonly (CreditsRecord | null)[] = [
  null,
  { account: 0, refill: null },
  { account: 0, refill: null, metered: true },
];

/** Identities of one plan with the same kind have the same traits; -1 = it has something of its own. */
export function kindOf({ enabled, credits, limits, alerts, planMove }: TraitFields): number {
  if (limits.length > 0 || alerts !== null || planMove !== null || (credits?.refill ?? null) !== null) return -1;
  const counted = credits === null ? 0 : credits.metered === true ? 2 : 1;
  return enabled ? counted : counted + DISABLED;
}

/** The plan must have been read. */
export function traitsOfKind(kind: number, planSlot: PlanSlot | null): IdentityTraits {
  const credits = CREDITS_OF_KIND[kind % DISABLED] ?? null;
  return makeTraits({ enabled: kind < DISABLED, credits, limits: [], alerts: null, planMove: null }, planSlot);
}

/** The plan must have been read. */
export function makeTraits(fields: TraitFields, planSlot: PlanSlot | null): IdentityTraits {
  const { enabled, limits, planMove } = fields;
  const plan = planSlot?.entry ?? null;
  const own = limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  const always = orNone(own.filter((_, i) => limits[i]?.autoApply !== false));
  return {
    enabled: enabled && (plan === null || plan.record !== null),
    plan,
    planSlot,
    planMovesAtMs: planMove?.atMs ?? Infinity,
    credits: withoutAccount(entryCredits(fields, plan?.record ?? null)),
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
