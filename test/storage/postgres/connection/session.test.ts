import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { freePort } from '../../../../tools/cluster/ports.ts';
import { StorageUnavailable } from '../../../../src/storage/port/storage.ts';
import { parseAddress } from '../../../../src/core/databaseUrl.ts';
import { Connector } from '../../../../src/storage/postgres/connection/connector.ts';
import { Session } from '../../../../src/storage/postgres/connection/session.ts';
import { seeded } from '../../../support/cluster/faultLab.ts';
import { VirtualClock } from '../../../support/clock.ts';

/** A database that takes connections and ends each at once, as one does that starts or stops. */
let database: Bun.TCPSocketListener;
let attempts = 0;
const clock = new VirtualClock(0);

beforeEach(() => {
  attempts = 0;
  database = Bun.listen({
    hostname: '127.0.0.1',
    port: freePort(),
    socket: {
      open(socket) {
        attempts++;
        socket.terminate();
      },
      data() {},
    },
  });
});

afterEach(() => database.stop(true));

function open(random: () => number): Session {
  const connector = new Connector(parseAddress(`postgres://postgres@127.0.0.1:${database.port}/postgres`), 'node');
  return new Session(connector, { settings: {}, timeoutMs: 1_000, random, monotonicMs: clock.nowMs });
}

async function failed(session: Session): Promise<void> {
  const error: unknown = await session.client().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StorageUnavailable);
}

/** The pauses after so many attempts that fail, each made as soon as it may be. */
async function pauses(session: Session, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) {
    await failed(session);
    found.push(session.pauseMs);
    clock.advance(session.pauseMs);
  }
  return found;
}

describe('a session whose database does not answer', () => {
  test.each([
    [0, [25, 50, 100, 200, 400, 800, 1_000, 1_000]],
    [0.5, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]],
    [1, [75, 150, 300, 600, 1_200, 2_400, 3_000, 3_000]],
  ])(
    'tries again after pauses that double up to a bound, each as long as chance (%p) says',
    async (chance, expected) => {
      expect(
        await pauses(
          open(() => chance),
          expected.length,
        ),
      ).toEqual(expected);
      expect(attempts).toBe(expected.length);
    },
  );

  test('makes no attempt before its time, however often it is asked; who asks is refused at once', async () => {
    const session = open(() => 0.5);
    await failed(session);
    clock.advance(49);
    for (let i = 0; i < 100; i++) await failed(session);
    expect([attempts, session.pauseMs]).toEqual([1, 1]);
    clock.advance(1);
    await failed(session);
    expect(attempts).toBe(2);
  });

  test('makes one attempt for all who ask meanwhile', async () => {
    const session = open(() => 0.5);
    await Promise.all(Array.from({ length: 100 }, () => failed(session)));
    expect(attempts).toBe(1);
  });
});

describe('sessions that lose their database in the same moment, and want it back all the time', () => {
  const SESSIONS = 50;
  const SLICE_MS = 10;

  test('do not come back in step: from the first second on a tenth of them at most try in the same 10 ms', async () => {
    const random = seeded(1);
    const startMs = clock.nowMs();
    const sessions = Array.from({ length: SESSIONS }, () => open(random));
    const bySlice = new Map<number, number>();
    for (let atMs = 0; atMs < 5_000; atMs = clock.nowMs() - startMs) {
      const due = sessions.filter(({ pauseMs }) => pauseMs === 0);
      await Promise.all(due.map(failed));
      const slice = Math.floor(atMs / SLICE_MS);
      bySlice.set(slice, (bySlice.get(slice) ?? 0) + due.length);
      clock.advance(Math.min(...sessions.map(({ pauseMs }) => pauseMs)));
    }
    expect(bySlice.get(0)).toBe(SESSIONS);
    const later = [...bySlice].filter(([slice]) => slice * SLICE_MS >= 1_000).map(([, tries]) => tries);
    expect(Math.max(...later)).toBeLessThanOrEqual(SESSIONS / 10);
    expect(attempts).toBe([...bySlice.values()].reduce((sum, tries) => sum + tries));
    expect(attempts).toBeLessThan(10 * SESSIONS);
  });
});
