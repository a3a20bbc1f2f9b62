import { expect } from 'bun:test';

import type { TestService } from '../../support/service.ts';

/** Calls that import keys into the api of a test. */
export function importCalls(at: () => { readonly service: TestService; readonly apiId: string }) {
  const importKeys = (items: unknown) => at().service.call('/v1/migrations.createKeys', items);

  const made = async (...items: Record<string, unknown>[]): Promise<string[]> => {
    const { status, body } = await importKeys(items.map((item) => ({ apiId: at().apiId, ...item })));
    expect([status, body.error]).toEqual([200, undefined]);
    expect(Object.keys(body)).toEqual(['keyIds']);
    expect(body.keyIds.length).toBe(items.length);
    return body.keyIds as string[];
  };

  let counter = 0;

  const newSecret = (): string => `live_secret-made-elsewhere-${++counter}`;

  return { importKeys, made, newSecret };
}
