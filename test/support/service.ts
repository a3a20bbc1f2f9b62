import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { compose, type Composed, type EmbeddedComposed, type Surroundings } from '../../src/compose.ts';
import { readConfig } from '../../src/config/read.ts';
import { makeFrontContext } from '../../src/http/router.ts';
import { Log } from '../../src/log.ts';
import { DataFolder } from '../../src/storage/sqlite/file/dataFolder.ts';
import type { SqliteStorage } from '../../src/storage/sqlite/storage.ts';
import { Digester, sha256Of, textReader } from '../../src/bunPlatform.ts';
import { VirtualClock } from './clock.ts';
import { FrontClient } from './frontClient.ts';

/** A test that waits asks again and again, and the clock stands still. */
const NO_QUOTAS = { KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND: '1000000' };

export interface TestServiceOptions {
  readonly startsAt?: string | number;
  /** KEYSTILE_... settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** An existing data folder; otherwise a new one, removed at the end. */
  readonly folder?: string;
  /** What a slower disk would add to every flush. */
  readonly addedFlushMs?: number;
  /** Where the names of webhook targets lead. */
  readonly resolve?: Surroundings['resolve'];
  /** When a target of a webhook takes too long. */
  readonly webhookTimeout?: () => AbortSignal;
  /** What the length of turns is measured by; otherwise the clock, so that no work gives way. */
  readonly monotonicMs?: () => number;
  /** Runs work at the end of a pass of the event loop. */
  readonly afterOthers?: (work: () => void) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // The shape of an answer is what the tests assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: no Authorization header. */
  readonly rootKey?: string | null;
  readonly peer?: string;
  /** Sent as it is instead of the body as JSON. */
  readonly raw?: string | Uint8Array;
  /** Sent in these chunks, without a length, instead of the body as JSON. */
  readonly chunks?: readonly string[];
}

/** The real service on a clock that the test moves. Calls go through the front as bytes, without a port. */
export class TestService {
  readonly clock: VirtualClock;
  readonly folder: string;
  readonly logLines: string[] = [];
  readonly broken: Error[] = [];
  rootKey = '';
  #composed: EmbeddedComposed | null = null;
  #dataFolder: DataFolder | null = null;
  #client: FrontClient | null = null;
  readonly #options: TestServiceOptions;
  readonly #ownsFolder: boolean;

  private constructor(options: TestServiceOptions) {
    this.#options = options;
    this.clock = new VirtualClock(options.startsAt ?? '2026-03-15T12:00:00Z');
    this.#ownsFolder = options.folder === undefined;
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'keystile-test-'));
  }

  static async start(options: TestServiceOptions = {}): Promise<TestService> {
    const service = new TestService(options);
    await service.open();
    service.rootKey = (await service.engine.rootKeys.create({ name: 'test', rights: ['*'], expiresAtMs: null })).secret;
    return service;
  }

  get composed(): EmbeddedComposed {
    if (this.#composed === null) throw new Error('the service is closed');
    return this.#composed;
  }

  get engine(): Composed['service']['engine'] {
    return this.composed.service.engine;
  }

  get storage(): SqliteStorage {
    return this.composed.storage;
  }

  /** Neither stopped, nor did its database fail. */
  get isWhole(): boolean {
    return this.#composed !== null && this.broken.length === 0;
  }

  async open(): Promise<void> {
    const { config, problems } = readConfig({
      environment: { KEYSTILE_DATA: this.folder, ...NO_QUOTAS, ...this.#options.settings },
      flags: {},
      readFile: () => '',
    });
    if (config === null) throw new Error(problems.join('\n'));
    const owner = { pid: process.pid, host: 'test', startedAt: 'now', control: null, url: null };
    this.#dataFolder = DataFolder.own(this.folder, owner);
    const digester = new Digester(config.pepper);
    const log = new Log({
      level: 'debug',
      format: 'json',
      nowMs: this.clock.nowMs,
      write: (line) => this.logLines.push(line),
    });
    this.#composed = await compose({
      config,
      folder: this.#dataFolder,
      digester,
      log,
      monotonicMs: this.#options.monotonicMs ?? this.clock.nowMs,
      ...(this.#options.afterOthers === undefined ? {} : { afterOthers: this.#options.afterOthers }),
      addedFlushMs: this.#options.addedFlushMs ?? 0,
      onBroken: (error) => this.broken.push(error),
      resolve: this.#options.resolve ?? resolvePublic,
      ...(this.#options.webhookTimeout === undefined ? {} : { webhookTimeout: this.#options.webhookTimeout }),
      system: {
        nowMs: this.clock.nowMs,
        randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        digestSecret: (secret) => digester.digest(secret),
        olderDigests: (secret) => digester.older(secret),
        digestOfSha256: (sha256) => digester.ofSha256(sha256),
        olderDigestsOfSha256: (sha256) => digester.olderOfSha256(sha256),
        sha256: sha256Of,
        textReader,
      },
    });
    this.#client = new FrontClient(makeFrontContext(this.#composed.service));
  }

  /** A clean stop and start on the same data. */
  async restart(): Promise<void> {
    await this.stop();
    await this.open();
  }

  /** Lets the disk be full: also the pages that are free inside of the file are taken. */
  async fillDisk(): Promise<void> {
    await this.storage.setMaxPages(1);
    while ((await this.call('/v1/apis.createApi', { name: 'x'.repeat(250) })).status === 200);
  }

  async stop(): Promise<void> {
    await this.#composed?.close();
    this.#dataFolder?.release();
    this.#composed = null;
    this.#client = null;
    this.#dataFolder = null;
  }

  async close(): Promise<void> {
    if (this.#composed !== null) await this.stop();
    if (this.#ownsFolder) rmSync(this.folder, { recursive: true, force: true });
  }

  async call(path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    if (this.#client === null) throw new Error('the service is closed');
    const rootKey = options.rootKey === undefined ? this.rootKey : options.rootKey;
    const sent = options.raw ?? (body === undefined ? null : JSON.stringify(body));
    const length = sent === null ? {} : { 'content-length': String(Buffer.byteLength(sent)) };
    const content = options.chunks ?? sent;
    const { pathname, search } = new URL(`http://localhost${path}`);
    const answer = await this.#client.send({
      method: options.method ?? 'POST',
      target: pathname + search,
      headers: {
        ...(content === null ? {} : { 'content-type': 'application/json', ...length }),
        ...(rootKey === null ? {} : { authorization: `Bearer ${rootKey}` }),
        ...options.headers,
      },
      body: content,
      peer: options.peer ?? '203.0.113.7',
    });
    return new ReadAnswer(answer);
  }

  /** A call that must succeed; answers its body. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async ok(path: string, body?: unknown, options: CallOptions = {}): Promise<any> {
    const answer = await this.call(path, body, options);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  async createApi(name = 'test api'): Promise<string> {
    return ((await this.ok('/v1/apis.createApi', { name })) as { apiId: string }).apiId;
  }

  /** Makes a key, in a new api unless one is given. */
  async createKey(fields: Record<string, unknown> = {}): Promise<{ keyId: string; key: string; apiId: string }> {
    const apiId = (fields['apiId'] as string | undefined) ?? (await this.createApi());
    const made = (await this.ok('/v1/keys.createKey', { ...fields, apiId })) as { keyId: string; key: string };
    return { ...made, apiId };
  }

  /** The verdict. */
  // oxlint-disable-next-line typescript/no-explicit-any
  verify(key: string, fields: Record<string, unknown> = {}, options: CallOptions = {}): Promise<any> {
    return this.ok('/v1/keys.verifyKey', { key, ...fields }, { rootKey: null, ...options });
  }
}

/** No test asks a name server: every name is one of the public internet, and only this machine is at home. */
async function resolvePublic(name: string): Promise<readonly string[]> {
  return name === 'localhost' ? ['127.0.0.1'] : ['93.184.215.14'];
}

/** Its text is parsed when it is looked at: what is measured is the service. */
class ReadAnswer implements Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  #body: { readonly value: unknown } | null = null;

  constructor({ status, headers, text }: Omit<Answer, 'body'>) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  // The shape of an answer is what the tests assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  get body(): any {
    this.#body ??= { value: parse(this.text) };
    return this.#body.value;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
