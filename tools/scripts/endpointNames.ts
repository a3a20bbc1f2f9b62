import { COMMANDS as WRITTEN } from '../../src/cli/cli.ts';
import { hasOwnWord, inWords } from '../../src/cli/words.ts';
import { sdkMethod } from '../../src/http/docs/openApi.ts';
import { verifyKey } from '../../src/http/routes/keys.verifyKey.ts';
import { createReservation } from '../../src/http/routes/reservations.create.ts';
import type { RouteCommand } from '../../src/http/routes/route.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';

/** The noun of each group of endpoints. */
const NOUNS: Readonly<Record<string, string>> = {
  keys: 'key',
  apis: 'api',
  identities: 'identity',
  plans: 'plan',
  permissions: 'permission',
  rootKeys: 'rootKey',
  sessions: 'session',
  events: 'event',
  webhooks: 'webhook',
  reservations: 'reservation',
  ratelimits: 'limit',
  credits: 'credit',
  migrations: 'migration',
};

/** An endpoint, as its command is made from it. */
export interface Described {
  readonly path: string;
  readonly method: string;
  readonly summary: string;
  readonly description?: string;
  readonly command?: RouteCommand;
  readonly request: object;
  readonly response: object;
  readonly example: { readonly request: object };
}

/** Endpoints that whoever has the key may call. */
export const OPEN: readonly Described[] = [verifyKey, createReservation];

/** Every endpoint that can have a command. */
export const DESCRIBED: readonly Described[] = [...ROUTES, ...OPEN];

/** The command of an endpoint that is named in a text. Null: the text names none. */
export function commandNamed(path: string): string | null {
  const written = WRITTEN.find(({ endpoint }) => endpoint === path);
  if (written !== undefined) return `keystile ${written.name}`;
  return DESCRIBED.some((each) => each.path === `/v1/${path}`) ? `keystile ${commandOf(path)}` : null;
}

/** `keys.rotateKey` is `key rotate`. */
export function commandOf(path: string): string {
  const [group = '', name = ''] = path.split('.');
  const { command } = DESCRIBED.find((each) => each.path === `/v1/${path}`) ?? {};
  return command?.name ?? `${kebab(NOUNS[group] ?? group)} ${kebab(sdkMethod(group, name))}`;
}

/** In the words of people: `updateRemaining` is `update-credits`. */
function kebab(name: string): string {
  return inWords(name).replaceAll(' ', '-');
}

/** The flag of a field: ids without `Id`, durations without `Ms`, one of a list by its singular. */
export function flagOf(member: string, isList: boolean, others: readonly string[]): string {
  const short = hasOwnWord(member) ? member : member.replace(/(?:Id|Ms)$/, '');
  const singular = isList && short.endsWith('s') && !others.includes(short.slice(0, -1)) ? short.slice(0, -1) : short;
  return kebab(singular);
}

/** The flags of a field that is true or false. */
export function switchFlags(member: string): { readonly flag: string; readonly off: string } {
  if (member === 'enabled') return { flag: 'enable', off: 'disable' };
  if (member === 'async') return { flag: 'async', off: 'strict' };
  return { flag: kebab(member), off: `no-${kebab(member)}` };
}
