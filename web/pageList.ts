import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';

import type { Operation } from '../src/core/rights.ts';
import { may } from './client.ts';
import { Overview } from './pages/overview/overview.tsx';

export interface Page {
  /** ":" stands for one part of the address, which the page is given as `id`. */
  readonly path: string;
  readonly title: string;
  /** The right that it needs; '' = none. */
  readonly needs: Operation | '';
  readonly isInMenu: boolean;
  readonly component: ComponentType<{ id: string }>;
}

/** Pages but the first are loaded when they are opened. */
const later = <T extends string>(
  load: () => Promise<Record<T, ComponentType<{ id: string }>>>,
  name: T,
): ComponentType<{ id: string }> =>
  lazy(async () => {
    try {
      return { default: (await load())[name] };
    } catch (cause) {
      throw new Error(
        'Its file could not be loaded. Either the service was upgraded since this tab was opened, or it does not answer.',
        { cause },
      );
    }
  });

const Keys = later(() => import('./pages/key/keys.tsx'), 'Keys');
const CreateKey = later(() => import('./pages/key/createKey.tsx'), 'CreateKey');
const KeyPage = later(() => import('./pages/key/keyPage.tsx'), 'KeyPage');
const Customers = later(() => import('./pages/customer/customers.tsx'), 'Customers');
const CustomerPage = later(() => import('./pages/customer/customerPage.tsx'), 'CustomerPage');
const Plans = later(() => import('./pages/plan/plans.tsx'), 'Plans');
const PlanPage = later(() => import('./pages/plan/planPage.tsx'), 'PlanPage');
const Apis = later(() => import('./pages/api/apis.tsx'), 'Apis');
const ApiPage = later(() => import('./pages/api/apiPage.tsx'), 'ApiPage');
const Permissions = later(() => import('./pages/permissions.tsx'), 'Permissions');
const Limits = later(() => import('./pages/limits.tsx'), 'Limits');
const Usage = later(() => import('./pages/usage.tsx'), 'Usage');
const TryIt = later(() => import('./pages/tryIt.tsx'), 'TryIt');
const Webhooks = later(() => import('./pages/webhooks.tsx'), 'Webhooks');
const Audit = later(() => import('./pages/audit.tsx'), 'Audit');
const Access = later(() => import('./pages/access/access.tsx'), 'Access');
const Imports = later(() => import('./pages/imports.tsx'), 'Imports');
const Settings = later(() => import('./pages/settings.tsx'), 'Settings');

/** In the order of the menu. */
export const PAGES: readonly Page[] = [
  { path: '/', title: 'Overview', needs: '', isInMenu: true, component: Overview },
  { path: '/keys', title: 'Keys', needs: 'api.read_key', isInMenu: true, component: Keys },
  { path: '/keys/new', title: 'Create a key', needs: 'api.create_key', isInMenu: false, component: CreateKey },
  { path: '/keys/:', title: 'Key', needs: 'api.read_key', isInMenu: false, component: KeyPage },
  { path: '/customers', title: 'Customers', needs: 'identity.read_identity', isInMenu: true, component: Customers },
  {
    path: '/customers/:',
    title: 'Customer',
    needs: 'identity.read_identity',
    isInMenu: false,
    component: CustomerPage,
  },
  { path: '/plans', title: 'Plans', needs: 'plan.read_plan', isInMenu: true, component: Plans },
  { path: '/plans/:', title: 'Plan', needs: 'plan.read_plan', isInMenu: false, component: PlanPage },
  { path: '/apis', title: 'Apis', needs: 'api.read_api', isInMenu: true, component: Apis },
  { path: '/apis/:', title: 'Api', needs: 'api.read_api', isInMenu: false, component: ApiPage },
  {
    path: '/permissions',
    title: 'Permissions',
    /** Either right is enough: the page shows what may be read. */
    get needs(): Operation {
      return may('rbac.read_role') ? 'rbac.read_role' : 'rbac.read_permission';
    },
    isInMenu: true,
    component: Permissions,
  },
  { path: '/limits', title: 'Limits', needs: 'ratelimit.read_override', isInMenu: true, component: Limits },
  { path: '/usage', title: 'Usage', needs: 'identity.read_usage', isInMenu: true, component: Usage },
  { path: '/try', title: 'Try it', needs: '', isInMenu: true, component: TryIt },
  { path: '/webhooks', title: 'Webhooks', needs: 'webhook.read_webhook', isInMenu: true, component: Webhooks },
  { path: '/imports', title: 'Imports', needs: 'api.create_key', isInMenu: true, component: Imports },
  { path: '/audit', title: 'Audit log', needs: 'root.read_audit', isInMenu: true, component: Audit },
  { path: '/access', title: 'Root keys and sessions', needs: 'root.read_root_key', isInMenu: true, component: Access },
  { path: '/settings', title: 'Settings', needs: 'service.read_status', isInMenu: true, component: Settings },
];
