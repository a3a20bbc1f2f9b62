import { readFileSync } from 'node:fs';

import { BANNER_END, Child, type Launch, type TempFolder } from './process.ts';

/** The root key of the servers that tests start, unless they ask for a generated one. */
export const ROOT_KEY = 'root_of_the_end_to_end_tests_0001';

// The shape of an answer is what the tests assert.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** A real server process that has printed its banner. */
export class Server implements AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  readonly rootKey: string;

  private constructor(child: Child, url: string, rootKey: string) {
    this.child = child;
    this.url = url;
    this.rootKey = rootKey;
  }

  /** On the folder `data` of the test's own folder; with a generated root key when `ROOT_KEY` is set to ''. */
  static async start(folder: TempFolder, launch: Launch = {}): Promise<Server> {
    const { KEYSTILE_ROOT_KEY = ROOT_KEY, ...settings } = launch.settings ?? {};
    const rootKey = KEYSTILE_ROOT_KEY === '' ? {} : { KEYSTILE_ROOT_KEY };
    const child = new Child({ ...launch, settings: { KEYSTILE_DATA: folder.join('data'), ...rootKey, ...settings } });
    try {
      await child.printed(BANNER_END);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
    const url = /^ {2}API +(https?:\S+)/m.exec(child.stdout)?.[1] ?? '';
    const [, shown, path] = /^ {2}Root key +(?:(root_\S+) +shown this once|saved in (\S+) )/m.exec(child.stdout) ?? [];
    const made = path === undefined ? shown : readFileSync(path, 'utf8').trim();
    return new Server(child, url, made ?? KEYSTILE_ROOT_KEY);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async call(path: string, body: unknown): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.rootKey}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** A call that must succeed; answers its body. */
  async ok(path: string, body: unknown): Promise<Body> {
    const answer = await this.call(path, body);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async createKeys(count: number, fields: Record<string, unknown>): Promise<{ keyId: string; key: string }[]> {
    const { apiId } = (await this.ok('/v1/apis.createApi', { name: 'end to end' })) as { apiId: string };
    const creations = Array.from({ length: count }, () => this.ok('/v1/keys.createKey', { apiId, ...fields }));
    return (await Promise.all(creations)) as { keyId: string; key: string }[];
  }

  async createKey(fields: Record<string, unknown>): Promise<{ keyId: string; key: string }> {
    const [made] = await this.createKeys(1, fields);
    if (made === undefined) throw new Error('no key was made');
    return made;
  }

  verify(key: string, fields: Record<string, unknown> = {}): Promise<Body> {
    return this.ok('/v1/keys.verifyKey', { key, ...fields });
  }

  async remaining(keyId: string): Promise<number> {
    return ((await this.ok('/v1/keys.getKey', { keyId })) as { remaining: number }).remaining;
  }

  /** SIGTERM; answers the exit code. */
  stop(): Promise<number> {
    this.child.signal('SIGTERM');
    return this.child.exited();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
  }
}
