import { expect, test } from 'bun:test';

import { hammer } from '../../support/cluster/clients.ts';
import { sharedSetup } from '../../support/cluster/clusterSetup.ts';

const CLIENTS = 64;
const LIMIT = 50;
const WINDOW_MS = 1000;
/** Every client asks for each of them in turn. Their windows begin and end together. */
const KEYS = 4;
/** Windows in which every key was asked for more often than its limit admits: 20 in all. */
const FULL_WINDOWS_OF_A_KEY = 5;

/** What was asked in one window, and what of it was valid, by the place of the key. */
class Window {
  readonly asked = Array.from({ length: KEYS }, () => 0);
  readonly valid = Array.from({ length: KEYS }, () => 0);

  add(place: number, isValid: boolean): void {
    this.asked[place] = (this.asked[place] ?? 0) + 1;
    if (isValid) this.valid[place] = (this.valid[place] ?? 0) + 1;
  }

  get isFull(): boolean {
    return Math.min(...this.asked) >= LIMIT;
  }
}

test('a strict limit of 50 a second, 64 clients at three nodes: never more than 50 in any window, and exactly 50 in each of 20 in which more asked', async () => {
  const setup = await sharedSetup();
  const ratelimit = { async: false, limit: LIMIT, duration: WINDOW_MS };
  const keys = await Promise.all(Array.from({ length: KEYS }, () => setup.createKey({ ratelimit })));
  const turns = Array.from({ length: CLIENTS }, (_, client) => client);
  const placeOf = (client: number): number => (turns[client] ?? 0) % KEYS;
  /** By their end, as the ledger named it. */
  const windows = new Map<number, Window>();
  const others: unknown[] = [];
  const fullWindows = (): Window[] => [...windows.values()].filter(({ isFull }) => isFull);
  await hammer(
    setup,
    CLIENTS,
    (client) =>
      fullWindows().length < FULL_WINDOWS_OF_A_KEY && others.length === 0 ? { key: keys[placeOf(client)]?.key } : null,
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
  const full = fullWindows();
  expect(full.length).toBeGreaterThanOrEqual(FULL_WINDOWS_OF_A_KEY);
  for (const { valid } of full) expect(valid).toEqual(keys.map(() => LIMIT));
});
