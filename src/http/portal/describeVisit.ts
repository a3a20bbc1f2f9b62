import type { PortalVisit } from '../../engine/admin/portal/portalSessions.ts';
import { toIdentityDetails } from '../shapes/holders/identityObject.ts';
import type { Service } from '../service.ts';
import { picked } from './picked.ts';

/** What the customer sees of itself. Its metadata is the provider's note. */
const SHOWN = ['externalId', 'name', 'keys', 'maxKeys', 'remaining', 'metered', 'refill', 'ratelimits'];
const SHOWN_OF_PLAN = ['name', 'maxKeys', 'refill', 'ratelimits'];

/** How the page looks, whose it is, and what the customer may do. `visit` null: no link was opened, or it has ended. */
export async function describeVisit({ engine, config }: Service, visit: PortalVisit | null): Promise<object> {
  const look = { name: config.portalName, color: config.portalColor, hasLogo: config.portalLogo !== null };
  if (visit === null) return { look, visit: null };
  const { session, identity, actor } = visit;
  const details = toIdentityDetails(await engine.identities.get(actor, { id: identity.id }));
  const plan = 'plan' in details ? (details.plan as object) : null;
  return {
    look,
    visit: {
      customer: picked(details, SHOWN),
      ...(plan === null ? {} : { plan: picked(plan, SHOWN_OF_PLAN) }),
      allow: session.allow,
      ...(session.returnUrl === null ? {} : { returnUrl: session.returnUrl }),
      endsAt: session.untilMs,
    },
  };
}
