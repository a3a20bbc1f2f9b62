import { describe, expect, test } from 'bun:test';

import { Keystile, type KeystileOptions } from '../../sdk/src/index.ts';
import { answer, error, type Move, patience, ScriptedServer, VALID } from './scriptedServer.ts';

const PATIENT: KeystileOptions = { rootKey: 'root_1', ...patience([]) };
const NOT_DONE = error(503, 'UNAVAILABLE');
const UNKNOWN: readonly Move[] = ['silence', 'cut', error(503, 'OUTCOME_UNKNOWN')];

describe('a call that was certainly not done', () => {
  test('is tried again', async () => {
    await using server = await ScriptedServer.start(NOT_DONE, NOT_DONE, VALID);
    expect((await new Keystile({ ...PATIENT, url: server.url }).verify('k')).code).toBe('VALID');
    expect(server.received.length).toBe(3);
  });

  test('is tried as often as retries allows', async () => {
    await using server = await ScriptedServer.start(NOT_DONE);
    expect((await new Keystile({ ...PATIENT, url: server.url, retries: 1 }).verify('k')).code).toBe('UNAVAILABLE');
    expect(server.received.length).toBe(2);
  });

  test('is not tried again when Retry-After is longer than the total time', async () => {
    await using server = await ScriptedServer.start(error(503, 'UNAVAILABLE', { 'retry-after': '60' }), VALID);
    expect((await new Keystile({ ...PATIENT, url: server.url }).verify('k')).code).toBe('UNAVAILABLE');
    expect(server.received.length).toBe(1);
  });

  test('goes to the next url at once', async () => {
    await using far = await ScriptedServer.start(VALID);
    const keystile = new Keystile({ ...PATIENT, url: ['http://127.0.0.1:1', far.url] });
    expect((await keystile.verify('k')).code).toBe('VALID');
    expect((await keystile.verify('k')).code).toBe('VALID');
    expect(far.received.length).toBe(2);
  });
});

describe('a call whose outcome is unknown', () => {
  test.concurrent.each(UNKNOWN)('is not tried again, because it may have been charged (%#)', async (move) => {
    await using server = await ScriptedServer.start(move, VALID);
    expect((await new Keystile({ ...PATIENT, ...patience([move]), url: server.url }).verify('k')).code).toBe(
      'UNAVAILABLE',
    );
    expect(server.received.length).toBe(1);
  });

  test.concurrent.each(UNKNOWN)(
    'is tried again with the same idempotency key when it is idempotent (%#)',
    async (move) => {
      await using server = await ScriptedServer.start(move, VALID);
      expect(
        (await new Keystile({ ...PATIENT, ...patience([move]), url: server.url }).verify('k', { idempotent: true }))
          .code,
      ).toBe('VALID');
      const keys = server.received.map(({ body }) => (JSON.parse(body) as { idempotencyKey: string }).idempotencyKey);
      expect(keys.length).toBe(2);
      expect(keys[0]).toBe(keys[1] as string);
      expect(keys[0]).toMatch(/^[A-Za-z0-9_-]{8,128}$/);
    },
  );

  test.concurrent('stays unknown when a later try was certainly not done', async () => {
    await using server = await ScriptedServer.start('cut', NOT_DONE);
    const verdict = await new Keystile({ ...PATIENT, url: server.url }).verify('k', { idempotent: true });
    expect(verdict.code === 'UNAVAILABLE' && [verdict.cause.code, verdict.cause.isCertainlyNotDone]).toEqual([
      'UNAVAILABLE',
      false,
    ]);
  });

  test.concurrent.each(UNKNOWN)('is tried again when it only reads (%#)', async (move) => {
    await using server = await ScriptedServer.start(move, VALID);
    await new Keystile({ ...PATIENT, ...patience([move]), url: server.url }).apis.get({ apiId: 'api_1' });
    expect(server.received.length).toBe(2);
  });

  test.concurrent.each(UNKNOWN)('is not tried again when it changes something (%#)', async (move) => {
    await using server = await ScriptedServer.start(move, VALID);
    const creating = new Keystile({ ...PATIENT, ...patience([move]), url: server.url }).keys.create({ apiId: 'api_1' });
    expect(await creating.catch(String)).toMatch(/^KeystileError: /);
    expect(server.received.length).toBe(1);
  });
});

describe('onUnavailable', () => {
  const passes = async (move: Move, onUnavailable: KeystileOptions['onUnavailable']): Promise<boolean> => {
    await using server = await ScriptedServer.start(move);
    return (await new Keystile({ ...PATIENT, url: server.url, retries: 0, onUnavailable }).verify('k')).valid;
  };

  test('refuses unless it is told otherwise', async () => {
    expect(await passes('cut', undefined)).toBe(false);
    expect(await passes('cut', 'refuse')).toBe(false);
  });

  test('allows what cannot be asked', async () => {
    expect(await passes('cut', 'allow')).toBe(true);
    expect(await passes(error(500, 'INTERNAL_SERVER_ERROR'), 'allow')).toBe(true);
  });

  test('never allows a request that the service refuses to read: its sender may have made it so', async () => {
    const byGateway = answer(413, '<html>Request Entity Too Large</html>');
    const byService = [error(400, 'BAD_REQUEST'), error(413, 'PAYLOAD_TOO_LARGE'), error(429, 'RATE_LIMITED')];
    for (const refused of [...byService, byGateway]) expect(await passes(refused, 'allow')).toBe(false);
  });

  test('never allows a call that its caller has ended', async () => {
    await using server = await ScriptedServer.start('silence');
    const ending = new AbortController();
    const keystile = new Keystile({ ...PATIENT, url: server.url, onUnavailable: 'allow' });
    const verifying = keystile.verify('k', { signal: ending.signal });
    ending.abort();
    expect((await verifying).valid).toBe(false);
  });

  test('asks a function, with the cause and the request but not the key', async () => {
    await using server = await ScriptedServer.start('cut');
    const asked: unknown[] = [];
    const keystile = new Keystile({
      ...PATIENT,
      url: server.url,
      onUnavailable: (cause, request) => {
        asked.push([cause.code, request]);
        return request.tags?.[0] === 'free';
      },
    });
    expect((await keystile.verify('k', { tags: ['free'] })).valid).toBe(true);
    expect((await keystile.verify('k', { tags: ['paid'] })).valid).toBe(false);
    expect(asked).toEqual([
      ['CONNECTION_LOST', { tags: ['free'] }],
      ['CONNECTION_LOST', { tags: ['paid'] }],
    ]);
  });

  test('a function that fails refuses', async () => {
    const fails = (): boolean => {
      throw new Error('no');
    };
    expect(await passes('cut', fails)).toBe(false);
  });
});
