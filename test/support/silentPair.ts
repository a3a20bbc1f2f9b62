import { afterAll, beforeAll } from 'bun:test';

import { postgresServer } from '../postgres/conformance/postgres.ts';
import { VirtualClock } from './clock.ts';
import { SilentNode } from './silentNode.ts';

/** Two nodes on one database, for all tests of a file. */
export interface SilentPair {
  /** Makes every change. */
  readonly changing: SilentNode;
  /** Has seen everything before a change and hears nothing of it. */
  readonly silent: SilentNode;
  query(sql: string): Promise<Record<string, unknown>[]>;
}

export function useSilentPair(): () => SilentPair {
  let pair: SilentPair;
  beforeAll(async () => {
    const server = await postgresServer();
    const url = await server.createDatabase();
    const clock = new VirtualClock('2026-03-15T12:00:00Z');
    pair = {
      changing: await SilentNode.start(url, clock),
      silent: await SilentNode.start(url, clock),
      query: (sql) => server.query(sql, new URL(url).pathname.slice(1)),
    };
    pair.silent.rootKey = pair.changing.rootKey;
  });
  afterAll(async () => {
    await pair.silent.close();
    await pair.changing.close();
  });
  return () => pair;
}
