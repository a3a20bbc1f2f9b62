import { composeNode, type Composed } from '../../../src/compose.ts';
import { readConfig } from '../../../src/config/read.ts';
import { makeFrontContext } from '../../../src/http/router.ts';
import { Log } from '../../../src/log.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { Digester, sha256Of, textReader } from '../../../src/bunPlatform.ts';
import { FrontClient, type SentRequest } from '../frontClient.ts';

export interface FaultNodeOptions {
  readonly url: string;
  /** KEYSTILE_... settings. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly nowMs?: () => number;
  readonly monotonicMs?: () => number;
}

export interface NodeAnswer {
  readonly status: number;
  /** Of an error, or of the verdict. */
  readonly code: string;
  readonly valid: boolean;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

/** A whole node in this process, without a socket and without its background work, on clocks that the test may bring. */
export class FaultNode implements AsyncDisposable {
  readonly composed: Composed<PostgresStorage>;
  readonly #client: FrontClient;
  #rootKey = '';
  #apiId: Promise<string> | null = null;

  private constructor(composed: Composed<PostgresStorage>) {
    this.composed = composed;
    this.#client = new FrontClient(makeFrontContext(composed.service));
  }

  static async start({ url, settings = {}, nowMs, monotonicMs }: FaultNodeOptions): Promise<FaultNode> {
    const environment = {
      KEYSTILE_DATABASE_URL: url,
      KEYSTILE_DATABASE_POOL: '2',
      KEYSTILE_ALLOW_FSYNC_OFF: 'on',
      ...settings,
    };
    const { config, problems } = readConfig({ environment, flags: {}, readFile: () => '' });
    if (config === null) throw new Error(problems.join('\n'));
    const digester = new Digester(config.pepper);
    const composed = await composeNode({
      config,
      databaseUrl: url,
      location: 'fault',
      digester,
      log: new Log({ level: 'error', format: 'json', nowMs: Date.now, write: () => undefined }),
      monotonicMs: monotonicMs ?? (() => performance.now()),
      system: {
        nowMs: nowMs ?? Date.now,
        randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        digestSecret: (secret) => digester.digest(secret),
        olderDigests: (secret) => digester.older(secret),
        digestOfSha256: (sha256) => digester.ofSha256(sha256),
        olderDigestsOfSha256: (sha256) => digester.olderOfSha256(sha256),
        sha256: sha256Of,
        textReader,
      },
    });
    return new FaultNode(composed);
  }

  get storage(): PostgresStorage {
    return this.composed.storage;
  }

  call(path: string, body: unknown): Promise<NodeAnswer> {
    const sent = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(sent)),
      authorization: `Bearer ${this.#rootKey}`,
    };
    return this.#send({ method: 'POST', target: path, headers, body: sent });
  }

  readiness(target = '/v1/readiness'): Promise<NodeAnswer> {
    return this.#send({ method: 'GET', target, headers: {}, body: null });
  }

  async #send(request: Omit<SentRequest, 'peer'>): Promise<NodeAnswer> {
    const { status, text, headers } = await this.#client.send({ ...request, peer: '203.0.113.7' });
    const answer = JSON.parse(text) as Record<string, unknown> & { code?: string; error?: { code: string } };
    const code = answer.error?.code ?? answer.code ?? '';
    return { status, code, valid: answer['valid'] === true, body: answer, headers };
  }

  verify(key: string, fields: Readonly<Record<string, unknown>> = {}): Promise<NodeAnswer> {
    return this.call('/v1/keys.verifyKey', { key, ...fields });
  }

  /** When it is done, the node has heard of its own change too: what it keeps of the key from now on stays. */
  async createKey(fields: Readonly<Record<string, unknown>>): Promise<{ key: string; keyId: string }> {
    const apiId = await (this.#apiId ??= this.#prepare());
    const { key, keyId } = await this.#ok('/v1/keys.createKey', { apiId, ...fields });
    // The first of them may be a question that was sent before.
    for (let i = 0; i < 2; i++) await this.storage.freshness.confirm();
    return { key: String(key), keyId: String(keyId) };
  }

  async remaining(keyId: string): Promise<number> {
    return Number((await this.#ok('/v1/keys.getKey', { keyId }))['remaining']);
  }

  /** A root key and an api of its own. */
  async #prepare(): Promise<string> {
    const { rootKeys } = this.composed.service.engine;
    this.#rootKey = (await rootKeys.create({ name: 'fault', rights: ['*'], expiresAtMs: null })).secret;
    return String((await this.#ok('/v1/apis.createApi', { name: 'fault' }))['apiId']);
  }

  async #ok(path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.call(path, body);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.composed.close();
  }
}
