import { expect, test } from 'bun:test';

import { hammer } from '../support/cluster/clients.ts';
import { sharedSetup } from '../support/cluster/clusterSetup.ts';

const CLIENTS = 64;
const LIMIT = 100;
const WINDOW_MS = 1000;
/** Every client asks for each of them in turn. Their windows begin and end together. */
const KEYS = 4;
/** Whole ones of each key, between the one in which the clients begin and the one in which they end: 20 in all. */
const WINDOWS_OF_A_KEY = 5;

/** What was asked in one window, and what of it was valid, by the place of the key. */
class Window {
  readonly asked = Array.from({ length: KEYS }, () => 0);
  readonly valid = Array.from({ length: KEYS }, () => 0);

  add(place: number, isValid: boolean): void {
    this.asked[place] = (this.asked[place] ?? 0) + 1;
    if (isValid) this.valid[place] = (this.valid[place] ?? 0) + 1;
  }
}

test('a strict limit of 100 per second, 64 clients at three nodes: in 20 windows never more than 100, and exactly 100 whenever at least that many asked', async () => {
  const setup = await sharedSetup();
  const ratelimit = { async: false, limit: LIMIT, duration: WINDOW_MS };
  const keys = await Promise.all(Array.from({ length: KEYS }, () => setup.createKey({ ratelimit })));
  const turns = Array.from({ length: CLIENTS }, (_, client) => client);
  const placeOf = (client: number): number => (turns[client] ?? 0) % KEYS;
  /** By their end, as the ledger named it. */
  const windows = new Map<number, Window>();
  const others: unknown[] = [];
  await hammer(
    setup,
    CLIENTS,
    (client) =>
      windows.size < WINDOWS_OF_A_KEY + 2 && others.length === 0 ? { key: keys[placeOf(client)]?.key } : null,
    async (reply, client) => {
      const reset = reply.kind === 'verdict' ? reply.verdict.ratelimit?.reset : undefined;
      if (reply.kind !== 'verdict' || reset === undefined) return void others.push(reply);
      const window = windows.get(reset) ?? new Window();
      windows.set(reset, window);
      window.add(placeOf(client), reply.verdict.valid);
      turns[client] = (turns[client] ?? 0) + 1;
    },
  );
  expect(others).toEqual([]);
  for (const { valid } of windows.values()) expect(Math.max(...valid)).toBeLessThanOrEqual(LIMIT);
  const whole = [...windows.keys()].sort((a, b) => a - b).slice(1, -1);
  expect(whole).toEqual(Array.from({ length: WINDOWS_OF_A_KEY }, (_, i) => (whole[0] ?? 0) + i * WINDOW_MS));
  for (const reset of whole) {
    expect(Math.min(...(windows.get(reset)?.asked ?? []))).toBeGreaterThanOrEqual(LIMIT);
    expect(windows.get(reset)?.valid).toEqual(keys.map(() => LIMIT));
  }
});
