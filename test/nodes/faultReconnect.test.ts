import { expect, test } from 'bun:test';

import { until } from '../../cluster/wait.ts';
import { StorageUnavailable } from '../../src/storage/port.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import { Connector } from '../../src/storage/postgres/connector.ts';
import { Session } from '../../src/storage/postgres/session.ts';
import { FaultLab } from '../cluster/faultLab.ts';
import { VirtualClock } from '../harness/clock.ts';

test('a connection that was made again is tried for at once when it is lost, and then after the shortest pause', async () => {
  await using lab = await FaultLab.start();
  const clock = new VirtualClock(0);
  const session = new Session(new Connector(parseAddress(lab.url), 'node'), {
    settings: {},
    timeoutMs: 60_000,
    random: () => 0.5,
    monotonicMs: clock.nowMs,
  });
  for (let round = 0; round < 2; round++) {
    await session.client();
    lab.proxy.cut();
    await until('the loss is noticed', () => !session.isOpen);
    expect(session.pauseMs).toBe(0);
    for (const pauseMs of [50, 100, 200]) {
      expect(await session.client().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
      expect(session.pauseMs).toBe(pauseMs);
      clock.advance(pauseMs);
    }
    lab.proxy.heal();
  }
  await session.close();
});
