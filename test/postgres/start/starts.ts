import { expect } from 'bun:test';

import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { runToEnd } from '../../process/process.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';

/** In every address that is tried; no part of it may be printed. */
export const PASSWORD = 'hunter2hunter2';

/** All nodes of these tests start at once: with few processors, the server needs a while to answer each. */
export const PATIENTLY = 'connect_timeout=60';

export const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Databases on which starts are tried. */
export class Starts {
  readonly server: PostgresServer;
  /** Without a schema. */
  readonly #empty: string;

  private constructor(server: PostgresServer, empty: string) {
    this.server = server;
    this.#empty = empty;
  }

  static async prepare(): Promise<Starts> {
    const server = await sharedServer();
    return new Starts(server, nameOf(await server.createDatabase()));
  }

  urlOf(parts: { user?: string; hosts?: string; database?: string; query?: string } = {}): string {
    const { user = 'postgres', hosts = this.server.hostPort, database = this.#empty, query = `?${PATIENTLY}` } = parts;
    return `postgres://${user}:${PASSWORD}@${hosts}/${database}${query}`;
  }

  /** A database with the schema of this program in it. */
  async prepared(): Promise<string> {
    const url = await this.server.createDatabase();
    await (await openStorage(url)).close();
    return nameOf(url);
  }
}

/** The start fails with this sentence and nothing else, and with the code that says: try later, or mend the configuration. */
export async function expectRefused(
  KEYSTILE_DATABASE_URL: string,
  sentence: RegExp,
  settings: Record<string, string> = {},
): Promise<void> {
  const { code, stdout, stderr } = await runToEnd({ settings: { ...settings, KEYSTILE_DATABASE_URL } });
  expect(stderr).toMatch(sentence);
  expect(stderr.trimEnd().split('\n').length).toBe(1);
  for (const part of [PASSWORD, 'hunter']) expect(stderr + stdout).not.toContain(part);
  expect([code, stdout]).toEqual([/cannot be reached/.test(sentence.source) ? 75 : 78, '']);
}
