import { expect } from 'bun:test';

import { Unkey } from '@unkey/api';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { TempFolder } from '../process.ts';
import { ROOT_KEY, Server } from '../server.ts';

/** A running service, on one of the engines. */
export interface Running {
  readonly url: string;
  readonly rootKey: string;
  stop(): Promise<void>;
}

async function onSqlite(): Promise<Running> {
  const folder = new TempFolder();
  const server = await Server.start(folder);
  return {
    url: server.url,
    rootKey: server.rootKey,
    async stop() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function onPostgres(): Promise<Running> {
  const postgres = await PostgresServer.start();
  const node = await KeystileNode.start({
    location: 'here',
    settings: {},
    databaseUrl: await postgres.createDatabase(),
  });
  return {
    url: node.url,
    rootKey: ROOT_KEY,
    async stop() {
      await node[Symbol.asyncDispose]();
      await postgres.remove();
    },
  };
}

/** A start of the service, by the name of its engine. */
export const ENGINES = { sqlite: onSqlite, postgres: onPostgres };

type Method = (request?: unknown) => Promise<unknown>;

/** The methods of the library that were called. At the end these must be all of them. */
export const called = new Set<string>();

function recording(unkey: Unkey): Unkey {
  return new Proxy(unkey, {
    get(target, group: string) {
      const methods = Reflect.get(target, group) as Record<string, Method>;
      return new Proxy(methods, {
        get(inner, name: string) {
          called.add(`${group}.${name}`);
          return inner[name];
        },
      });
    },
  });
}

/** The library as a user makes it. From now on the methods that are called are noted. */
export function connect({ url, rootKey }: Running): Unkey {
  called.clear();
  return recording(new Unkey({ rootKey, baseUrl: url, retry: { attempts: 0 } }));
}

export function allMethods(unkey: Unkey): string[] {
  const groups = Object.entries(Object.getOwnPropertyDescriptors(Unkey.prototype)).filter(
    ([, descriptor]) => 'get' in descriptor && descriptor.get !== undefined,
  );
  return groups.flatMap(([group]) =>
    Object.keys(Reflect.get(unkey, group) as object).map((name) => `${group}.${name}`),
  );
}

/** The result of a call that must succeed. The library returns errors as values. */
export function ok<T>(answer: { result?: T; error?: unknown }): T {
  expect(answer.error).toBeUndefined();
  return answer.result as T;
}
