import { SYSTEM } from '../../../src/engine/admin/change/requireRight.ts';
import { TestService } from '../../support/service.ts';

export interface Entry {
  readonly id: string;
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
  readonly origin?: string;
  readonly requestId?: string;
}

// The shape of an answer is what the tests assert.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;

/** The address that audited calls come from. */
export const ORIGIN = '198.51.100.9';

/** A service whose audit log is looked at after every call. */
export class AuditSetup {
  readonly service: TestService;
  /** Every secret that was made or sent. */
  readonly secrets: string[];
  #names = 0;

  private constructor(service: TestService) {
    this.service = service;
    this.secrets = [service.rootKey];
  }

  static async start(): Promise<AuditSetup> {
    return new AuditSetup(await TestService.start());
  }

  async entries(filter: object = {}): Promise<Entry[]> {
    return (await this.service.ok('/v1/audit.listEntries', filter)).entries as Entry[];
  }

  async newestId(): Promise<number> {
    return Number((await this.entries({ limit: 1 }))[0]?.id ?? 0);
  }

  async ok(method: string, body: object): Promise<Body> {
    return (await this.#call(method, body)).body;
  }

  /** One call, and the entries that it has left, oldest first. */
  async told(method: string, body: object): Promise<{ body: Body; entries: Entry[]; requestId: string | null }> {
    const before = await this.newestId();
    this.service.clock.advance(1000);
    const answer = await this.#call(method, body);
    const entries = (await this.entries()).filter(({ id }) => Number(id) > before).toReversed();
    return { body: answer.body, entries, requestId: answer.headers.get('keystile-request-id') };
  }

  async #call(method: string, body: object) {
    const answer = await this.service.call(`/v1/${method}`, body, { peer: ORIGIN });
    if (answer.status > 202) throw new Error(`${method} answered ${answer.status}: ${answer.text}`);
    for (const secret of [answer.body.key, answer.body.secret])
      if (typeof secret === 'string') this.secrets.push(secret);
    return answer;
  }

  /** A name that no other case uses. */
  name(what: string): string {
    return `${what}_${++this.#names}`;
  }

  secret(): string {
    const secret = this.name('secret-of-an-import');
    this.secrets.push(secret);
    return secret;
  }

  async api(): Promise<string> {
    return (await this.ok('apis.createApi', { name: 'audited' })).apiId as string;
  }

  async key(fields: object = {}): Promise<string> {
    const { keyId } = await this.ok('keys.createKey', { apiId: await this.api(), name: 'before', ...fields });
    return keyId as string;
  }

  async permission(name: string): Promise<string> {
    return (await this.ok('permissions.createPermission', { name })).permissionId as string;
  }

  async role(name: string): Promise<string> {
    return (await this.ok('permissions.createRole', { name })).roleId as string;
  }

  async plan(): Promise<string> {
    return (await this.ok('plans.createPlan', { name: this.name('plan') })).planId as string;
  }

  async identity(externalId: string, fields: object = {}): Promise<string> {
    return (await this.ok('identities.createIdentity', { externalId, ...fields })).identityId as string;
  }

  async rootKey(): Promise<string> {
    const made = await this.ok('rootKeys.createRootKey', { name: 'audited', permissions: ['api.*.read_api'] });
    return made.rootKeyId as string;
  }

  async session(): Promise<{ sessionId: string; rootKeyId: string }> {
    const { storage, engine } = this.service;
    const rootKey = await storage.records.findRootKey(await this.rootKey());
    if (rootKey === null) throw new Error('no root key was made');
    const signIn = { browser: 'a browser', by: 'root key', formerSecret: null } as const;
    const { id: sessionId } = await engine.sessions.admin.signIn(rootKey, SYSTEM, signIn);
    return { sessionId, rootKeyId: rootKey.id };
  }

  async namespace(): Promise<string> {
    const namespace = this.name('namespace');
    await this.ok('ratelimits.limit', { namespace, identifier: 'a', limit: 5, duration: 1000 });
    return namespace;
  }
}
