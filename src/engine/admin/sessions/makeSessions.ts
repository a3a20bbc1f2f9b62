import type { AdminContext } from '../change/adminContext.ts';
import { SessionAdmin } from './sessionAdmin.ts';
import { SessionAuthenticator } from './sessionAuthenticator.ts';
import { SignInLinks } from './signInLinks.ts';

/** The browsers that are signed in to the dashboard, and how they do. */
export interface Sessions {
  readonly admin: SessionAdmin;
  readonly authenticator: SessionAuthenticator;
  readonly links: SignInLinks;
}

export function makeSessions(context: AdminContext): Sessions {
  return {
    admin: new SessionAdmin(context),
    authenticator: new SessionAuthenticator(context),
    links: new SignInLinks(context.system),
  };
}
