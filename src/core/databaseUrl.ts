/** Where the database is. Several hosts are copies of one database, of which one accepts writes at a time. */
export interface DatabaseAddress {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
  readonly tls: 'off' | 'unverified' | 'verified';
  /** File with the certificates that are trusted instead of the system's. */
  readonly tlsRootFile: string | null;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
}

/** An address that cannot be used; the message says why, without repeating what may be a secret. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
  /** The message without the name of the setting and the full stop. */
  readonly problem: string;

  constructor(problem: string) {
    super(`KEYSTILE_DATABASE_URL ${problem}.`);
    this.problem = problem;
  }
}

const SHAPE = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const DEFAULT_PORT = 5432;
const DEFAULT_CONNECT_TIMEOUT_SECONDS = 3;

const TLS_MODES: Readonly<Record<string, DatabaseAddress['tls']>> = {
  disable: 'off',
  require: 'unverified',
  'verify-ca': 'verified',
  'verify-full': 'verified',
};

/** `postgres://user:password@host1:5432,host2:5432/database?sslmode=verify-full`; special characters as %xx. */
export function parseAddress(url: string): DatabaseAddress {
  const found = SHAPE.exec(url);
  if (found === null) {
    throw new AddressError('must look like postgres://user:password@host:5432/database');
  }
  const [, user = '', password, hosts = '', database = '', query = ''] = found;
  // This may be part of a password with unescaped characters: no message repeats it as a host or a name.
  if ((hosts + database + query).includes('@') || database.includes('/')) {
    throw new AddressError('has an @, / or ? in its password: write them as %40, %2F and %3F');
  }
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) checkParameter(name);
  const tls = TLS_MODES[parameters.get('sslmode') ?? 'disable'];
  if (tls === undefined) {
    throw new AddressError(`has an sslmode that is none of ${Object.keys(TLS_MODES).join(', ')}`);
  }
  const target = parameters.get('target_session_attrs') ?? 'read-write';
  if (target !== 'read-write' && target !== 'primary') {
    throw new AddressError('has target_session_attrs other than read-write and primary');
  }
  return {
    hosts: hosts.split(',').map(parseHost),
    user: decode(user) || 'postgres',
    password: password === undefined ? null : decode(password),
    database: decode(database) || decode(user) || 'postgres',
    // As in PostgreSQL's own programs: naming a root certificate asks for it to be checked.
    tls: tls === 'unverified' && parameters.has('sslrootcert') ? 'verified' : tls,
    tlsRootFile: parameters.get('sslrootcert'),
    applicationName: parameters.get('application_name') ?? 'keystile',
    connectTimeoutMs: seconds(parameters.get('connect_timeout')) * 1000,
  };
}

const PARAMETERS = ['sslmode', 'sslrootcert', 'target_session_attrs', 'application_name', 'connect_timeout'];

function checkParameter(name: string): void {
  if (PARAMETERS.includes(name)) return;
  throw new AddressError(
    `has the unknown parameter ${name.slice(0, 40)}; known parameters are ${PARAMETERS.join(', ')}`,
  );
}

function seconds(text: string | null): number {
  const value = text === null ? DEFAULT_CONNECT_TIMEOUT_SECONDS : Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 60) return value;
  throw new AddressError('has a connect_timeout that is not 1 to 60 seconds');
}

function parseHost(text: string): { host: string; port: number } {
  const found = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::(\d+))?$/.exec(text);
  const port = found?.[2] === undefined ? DEFAULT_PORT : Number(found[2]);
  const host = found?.[1]?.replaceAll(/[[\]]/g, '') ?? '';
  if (found === null || host === '' || port < 1 || port > 65535) {
    throw new AddressError('needs hosts like db.example.com:5432, separated by commas');
  }
  return { host: decode(host), port };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError('has a % that is not followed by two hexadecimal digits');
  }
}
