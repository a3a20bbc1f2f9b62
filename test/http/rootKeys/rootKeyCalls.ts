import { expect } from 'bun:test';

import type { TestService } from '../../support/service.ts';
import { tablesOf } from '../imports/imported.ts';

export interface Made {
  readonly rootKeyId: string;
  readonly key: string;
}

/** Calls about root keys, of the service that a test uses. */
export function rootKeyCalls(at: () => { readonly service: TestService }) {
  const make = (permissions: readonly string[], fields: object = {}): Promise<Made> =>
    at().service.ok('/v1/rootKeys.createRootKey', { name: 'made', permissions, ...fields });

  const as = (rootKey: string) => ({ rootKey });

  /** Sends what must be refused, and must leave nothing behind. */
  async function refused(path: string, body: object, rootKey = at().service.rootKey) {
    const before = tablesOf(at().service);
    const answer = await at().service.call(path, body, { rootKey });
    expect(tablesOf(at().service)).toEqual(before);
    const { code, message, issues } = answer.body.error;
    return { status: answer.status, code, message, ...(issues === undefined ? {} : { issues }) };
  }

  const works = async (rootKey: string): Promise<boolean> =>
    (await at().service.call('/v1/apis.listApis', {}, { rootKey })).status !== 401;

  const listed = async (id: string) =>
    (await at().service.ok('/v1/rootKeys.listRootKeys', {})).rootKeys.find((each: { id: string }) => each.id === id);

  return { make, as, refused, works, listed };
}
