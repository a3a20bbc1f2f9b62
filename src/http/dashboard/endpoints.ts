import { AppError } from '../../core/errors.ts';
import type { Endpoint } from '../routes/endpoint.ts';
import type { Service } from '../service.ts';
import { isDashboardOn } from '../authentication/isDashboardOn.ts';
import { showSession, signIn, signOut } from './signIn.ts';
import { ASSETS_PATH, DASHBOARD_PATH, DashboardSite } from './site.ts';

/** What the dashboard consists of, by path. `below` finds the addresses inside of the dashboard, which no list can hold. */
export interface DashboardEndpoints {
  readonly byPath: ReadonlyMap<string, Endpoint>;
  readonly below: (path: string) => Endpoint | undefined;
}

export function dashboardEndpoints(service: Service): DashboardEndpoints {
  if (!isDashboardOn(service.config)) return { byPath: new Map(), below: () => undefined };
  const site = new DashboardSite(service.log);
  const page: Endpoint = { methods: ['GET'], answer: (_request, _peer, context) => site.page(context) };
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
  const asset = (name: string): Endpoint => ({
    methods: ['GET'],
    async answer(_request, _peer, context) {
      const found = await site.asset(name, context);
      if (found === null) throw new AppError('NOT_FOUND', 'The dashboard has no such file. Reload the page.');
      return found;
    },
  });
  return {
    byPath,
    below: (path) => {
      if (path.startsWith(ASSETS_PATH)) return asset(path.slice(ASSETS_PATH.length));
      return path.startsWith(`${DASHBOARD_PATH}/`) ? page : undefined;
    },
  };
}
