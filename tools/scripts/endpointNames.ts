import { COMMANDS as WRITTEN } from '../../src/cli/commandTable.ts';
import { sdkMethod } from '../../src/http/docs/sdkNames.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';

/** The noun of each group of endpoints. */
const NOUNS: Readonly<Record<string, string>> = {
  keys: 'key',
  apis: 'api',
  identities: 'identity',
  plans: 'plan',
  permissions: 'permission',
  rootKeys: 'root-key',
  sessions: 'session',
  events: 'event',
  webhooks: 'webhook',
  reservations: 'reservation',
  ratelimits: 'limit',
  credits: 'credit',
  migrations: 'migration',
};

/** Endpoints whose own name would not read well. */
const COMMANDS: Readonly<Record<string, string>> = {
  'keys.createKeys': 'key create-many',
  'keys.getVerifications': 'key verifications',
  'analytics.getVerifications': 'analytics verifications',
  'service.getStatus': 'service status',
  'migrations.enqueueKeys': 'migration enqueue',
  'migrations.getProgress': 'migration progress',
  'permissions.createRole': 'role create',
  'permissions.deleteRole': 'role delete',
  'permissions.getRole': 'role get',
  'permissions.listRoles': 'role list',
  'permissions.setRolePermissions': 'role set-permissions',
  'ratelimits.limit': 'limit take',
  'ratelimits.multiLimit': 'limit take-many',
  'webhooks.listDeliveries': 'webhook deliveries',
};

/** The command of an endpoint that is named in a text. Null: the text names none. */
export function commandNamed(path: string): string | null {
  const written = WRITTEN.find(({ endpoint }) => endpoint === path);
  if (written !== undefined) return `keystile ${written.name}`;
  return ROUTES.some((route) => route.path === `/v1/${path}`) ? `keystile ${commandOf(path)}` : null;
}

/** `keys.rotateKey` is `key rotate`. */
export function commandOf(path: string): string {
  const [group = '', name = ''] = path.split('.');
  return COMMANDS[path] ?? `${NOUNS[group] ?? kebab(group)} ${kebab(sdkMethod(group, name))}`;
}

export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The flag of a field: ids without `Id`, durations without `Ms`, one of a list by its singular. */
export function flagOf(member: string, isList: boolean, others: readonly string[]): string {
  if (member === 'externalId') return 'external-id';
  const short = member.replace(/(?:Id|Ms)$/, '');
  const singular = isList && short.endsWith('s') && !others.includes(short.slice(0, -1)) ? short.slice(0, -1) : short;
  return kebab(singular);
}

/** The flags of a field that is true or false. Flags with names of their own are those of `key create` and `key update`. */
export function switchFlags(member: string): { readonly flag: string; readonly off: string } {
  if (member === 'enabled') return { flag: 'enable', off: 'disable' };
  if (member === 'async') return { flag: 'async', off: 'strict' };
  return { flag: kebab(member), off: `no-${kebab(member)}` };
}
