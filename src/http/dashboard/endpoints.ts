import type { Endpoint } from '../routes/endpoint.ts';
import type { Service } from '../service.ts';
import { isDashboardOn } from '../authentication/isDashboardOn.ts';
import { showSession, signIn, signOut } from './signIn.ts';
import { DASHBOARD_PATH, type WebSite } from '../web/site.ts';

/** What the dashboard consists of, by path. `below` finds the addresses inside of the dashboard, which no list can hold. */
export interface DashboardEndpoints {
  readonly byPath: ReadonlyMap<string, Endpoint>;
  readonly below: (path: string) => Endpoint | undefined;
}

export function dashboardEndpoints(service: Service, site: WebSite): DashboardEndpoints {
  if (!isDashboardOn(service.config)) return { byPath: new Map(), below: () => undefined };
  const page: Endpoint = { methods: ['GET'], answer: (_request, _peer, context) => site.page('dashboard', context) };
  const byPath = new Map<string, Endpoint>([
    [DASHBOARD_PATH, page],
    [
      `${DASHBOARD_PATH}/session`,
      {
        methods: ['GET', 'POST'],
        answer: (request, peer, context) =>
          (request.method === 'POST' ? signIn : showSession)(service, { request, peer, context }),
      },
    ],
    [
      `${DASHBOARD_PATH}/signOut`,
      { methods: ['POST'], answer: (request, peer, context) => signOut(service, { request, peer, context }) },
    ],
  ]);
  return { byPath, below: (path) => (path.startsWith(`${DASHBOARD_PATH}/`) ? page : undefined) };
}
