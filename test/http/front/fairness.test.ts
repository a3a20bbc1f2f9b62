import { afterEach, describe, expect, spyOn, test } from 'bun:test';

import { PIECE_MS } from '../../../src/engine/fairTurns.ts';
import type { CallOptions } from '../../support/service.ts';
import { TestService } from '../../support/service.ts';

/** Connections of the crowd, all from one address. */
const CROWD = 256;
const ATTACKER = { peer: '198.51.100.1' };
/** Of the bodies that they send: large, and not so large that reading all of them takes long. */
const BYTES = 32 * 1024;
/** One look at the clock takes so long: work that looks at it often is long. */
const LOOK_MS = 1;

/** The service, on an event loop that the test moves pass by pass. What is asked between two passes is answered there, or waits. */
class Loop {
  nowMs = 0;
  readonly #passes: (() => void)[] = [];
  service!: TestService;
  key = '';
  apiId = '';

  static async start(settings: Record<string, string> = {}): Promise<Loop> {
    const loop = new Loop();
    loop.service = await TestService.start({
      settings,
      monotonicMs: () => (loop.nowMs += LOOK_MS),
      afterOthers: (work) => loop.#passes.push(work),
    });
    const made = loop.service.createKey();
    await loop.until(() => Bun.peek.status(made) !== 'pending');
    ({ key: loop.key, apiId: loop.apiId } = await made);
    const first = loop.service.verify(loop.key);
    await loop.until(() => Bun.peek.status(first) !== 'pending');
    return loop;
  }

  /** One pass, with what it answers. Answers how many looks at the clock it took. */
  async pass(): Promise<number> {
    const startedAtMs = this.nowMs;
    for (const work of this.#passes.splice(0)) work();
    await this.settle();
    return (this.nowMs - startedAtMs) / LOOK_MS;
  }

  /** Everything that needs no other pass. */
  async settle(): Promise<void> {
    for (let i = 0; i < 20; i++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Passes until this is true. The threads of the database answer between them. */
  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      await this.pass();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  /** Sends the same from every connection of the crowd. Answers their statuses, as they come. */
  crowd(path: string, raw: string, options: CallOptions = { rootKey: null }): number[] {
    const statuses: number[] = [];
    for (let i = 0; i < CROWD; i++) {
      void this.service
        .call(path, undefined, { raw, ...ATTACKER, ...options })
        .then(({ status }) => statuses.push(status));
    }
    return statuses;
  }

  /** Whether a small verification of another client is answered before the next pass begins. */
  async isAnsweredAtOnce(): Promise<boolean> {
    const answer = this.service.verify(this.key);
    await this.settle();
    return Bun.peek.status(answer) === 'fulfilled';
  }
}

let loop: Loop;

afterEach(async () => {
  await loop.service.close();
});

/** Items until the body has so many bytes. */
function filled(bytes: number, [open, close]: [string, string], item: string): string {
  const count = Math.floor((bytes - open.length - close.length + 1) / (item.length + 1));
  return open + Array<string>(count).fill(item).join(',') + close;
}

const FIELDS = Array.from({ length: 600 }, (_, i) => `"unknown_${i}":1`).join(',');
const FRAME: [string, string] = ['{"keys":[', ']}'];
const limits = Array.from({ length: 40 }, (_, i) => ({
  name: `limit ${i}`,
  limit: 1000,
  duration: 60_000,
  async: true,
}));

describe(`${CROWD} connections of one address`, () => {
  const bodies = (key: string): Record<string, [path: string, raw: string, status: number]> => ({
    'invalid verifications': ['/v1/keys.verifyKeys', filled(BYTES, FRAME, `{"key":"k",${FIELDS}}`), 400],
    'lists in lists': ['/v1/keys.verifyKeys', filled(BYTES, FRAME, '[[[[]]]]'), 400],
    'deep JSON': ['/v1/keys.verifyKeys', filled(BYTES, FRAME, '['.repeat(30) + ']'.repeat(30)), 400],
    'bodies that are hardly large': ['/v1/keys.verifyKeys', filled(9 * 1024, FRAME, '{"key":1}'), 400],
    'verifications with many limits': [
      '/v1/keys.verifyKeys',
      JSON.stringify({ keys: Array.from({ length: 10 }, () => ({ key, ratelimits: limits })) }),
      200,
    ],
  });

  test.each(Object.keys(bodies('')))(
    '%s: a pass has one piece of work on them, a small verification of anyone else is answered in between, and none is refused',
    async (name) => {
      loop = await Loop.start();
      const [path, raw, status] = bodies(loop.key)[name] as [string, string, number];
      const statuses = loop.crowd(path, raw);
      await loop.settle();
      expect(statuses).toEqual([]);
      let passes = 0;
      for (; statuses.length < CROWD; passes++) {
        expect(await loop.isAnsweredAtOnce()).toBe(true);
        const before = statuses.length;
        const looks = await loop.pass();
        // A piece ends with the look that finds it long, and the requests beside it look a few times.
        expect([looks <= PIECE_MS / LOOK_MS + 12, statuses.length - before <= 1]).toEqual([true, true]);
      }
      expect(statuses).toEqual(Array<number>(CROWD).fill(status));
      // Each of them took several pieces, or one.
      expect(passes).toBeGreaterThanOrEqual(CROWD);
    },
  );

  test('keys.createKeys by a root key without the right is refused before the body is looked at, in words that name the right', async () => {
    loop = await Loop.start();
    const rights = ['ratelimit.ns_x.limit'];
    const rootKey = (await loop.service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
    // It is not even JSON.
    const raw = 'x'.repeat(BYTES);
    const statuses = loop.crowd('/v1/keys.createKeys', raw, { rootKey });
    await loop.until(() => statuses.length === CROWD);
    expect(statuses).toEqual(Array<number>(CROWD).fill(403));
    const answer = loop.service.call('/v1/keys.createKeys', undefined, { raw, rootKey });
    await loop.until(() => Bun.peek.status(answer) !== 'pending');
    expect((await answer).body.error.message).toBe('This root key lacks the right api.*.create_key.');
  });

  test('keys.createKeys by a root key with the right: its own turns only', async () => {
    loop = await Loop.start();
    const raw = filled(BYTES, FRAME, '{"unknown":1}');
    const statuses = loop.crowd('/v1/keys.createKeys', raw, {});
    // The root key is looked up once for all of them.
    await loop.until(() => statuses.length > 0);
    while (statuses.length < 20) {
      expect(await loop.isAnsweredAtOnce()).toBe(true);
      const before = statuses.length;
      await loop.pass();
      expect(statuses.length - before).toBeLessThanOrEqual(1);
    }
    await loop.until(() => statuses.length === CROWD);
    expect(statuses).toEqual(Array<number>(CROWD).fill(400));
  });

  test('small requests that are long to answer share a turn, and nobody waits for all of them', async () => {
    loop = await Loop.start();
    const raw = filled(8192, ['{', '}'], '"unknown":1').replaceAll('unknown', 'u');
    const statuses = loop.crowd('/v1/keys.verifyKey', raw);
    const first = statuses.length;
    expect(first).toBeLessThan(10);
    while (statuses.length < CROWD) {
      expect(await loop.isAnsweredAtOnce()).toBe(true);
      const before = statuses.length;
      await loop.pass();
      expect(statuses.length - before).toBeLessThan(10);
    }
    expect(statuses).toEqual(Array<number>(CROWD).fill(400));
  });
});

describe('work on many keys gives way between them', () => {
  const COUNT = 200;

  test.each([
    ['/v1/keys.createKeys', (apiId: string) => ({ apiId, keys: Array.from({ length: COUNT }, () => ({})) })],
    [
      '/v1/migrations.createKeys',
      (apiId: string) => Array.from({ length: COUNT / 2 }, (_, i) => ({ apiId, plaintext: `made-elsewhere-${i}` })),
    ],
  ] as const)('%s: a pass makes a few of them', async (path, bodyOf) => {
    loop = await Loop.start();
    // Each new key needs random bytes for its id.
    const random = spyOn(loop.service.engine.system, 'randomBytes');
    const made = loop.service.call(path, bodyOf(loop.apiId));
    const drawn: number[] = [];
    let before = 0;
    await loop.until(() => {
      drawn.push(random.mock.calls.length - before);
      before = random.mock.calls.length;
      return Bun.peek.status(made) !== 'pending';
    });
    expect((await made).status).toBe(200);
    expect(before).toBeGreaterThanOrEqual(COUNT / 2);
    // Two draws for each key, and one look at the clock between two keys. Events are made at the end, together.
    const drafting = drawn.filter((count) => count > 0).slice(0, -1);
    expect(drafting.length).toBeGreaterThan(5);
    expect(Math.max(...drafting)).toBeLessThanOrEqual((2 * PIECE_MS) / LOOK_MS + 4);
  });
});

describe('clients take turns', () => {
  const raw = filled(BYTES, FRAME, '[[[[]]]]');
  const send = (options: CallOptions): { isDone: boolean } => {
    const sent = { isDone: false };
    void loop.service
      .call('/v1/keys.verifyKeys', undefined, { raw, rootKey: null, ...options })
      .then(() => (sent.isDone = true));
    return sent;
  };

  test('by the address that a trusted proxy reports: the large request of one is not behind all those of another', async () => {
    loop = await Loop.start({ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' });
    const from = (client: string) => send({ peer: '10.0.0.1', headers: { 'x-forwarded-for': client } });
    const crowd = Array.from({ length: 50 }, () => from('198.51.100.1'));
    const other = from('198.51.100.2');
    await loop.until(() => other.isDone);
    expect(crowd.filter(({ isDone }) => isDone).length).toBeLessThanOrEqual(1);
    await loop.until(() => crowd.every(({ isDone }) => isDone));
  });

  test('by root key for management: one root key has its share, from however many addresses it calls', async () => {
    loop = await Loop.start();
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) =>
        loop.service.engine.rootKeys.create({ name, rights: ['*'], expiresAtMs: null }),
      ),
    );
    // Both are looked up before: what is measured is the turns.
    for (const made of [one, two]) {
      const known = loop.service.ok('/v1/apis.listApis', {}, { rootKey: made?.secret ?? '' });
      await loop.until(() => Bun.peek.status(known) === 'fulfilled');
    }
    const wait = spyOn(loop.service.engine.turns, 'wait');
    const done: string[] = [];
    const keys = filled(BYTES, FRAME, '{"unknown":1}');
    const create = (name: string, rootKey: string, peer: string): void => {
      const call = loop.service.call('/v1/keys.createKeys', undefined, { raw: keys, rootKey, peer });
      void call.then(() => done.push(name));
    };
    for (let i = 0; i < 50; i++) create('one', one?.secret ?? '', `203.0.113.${i % 3}`);
    create('two', two?.secret ?? '', '203.0.113.99');
    await loop.until(() => done.includes('two'));
    expect(done.length).toBeLessThanOrEqual(5);
    await loop.until(() => done.length === 51);
    const waiting = wait.mock.calls.map(([client]) => client);
    expect(waiting.filter((client) => client === one?.rootKey.id).length).toBe(50);
    expect(waiting.filter((client) => client === two?.rootKey.id).length).toBe(1);
  });
});
