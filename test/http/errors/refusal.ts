import { expect } from 'bun:test';

import type { TestService } from '../../support/service.ts';
import { storedIn } from './stored.ts';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly issues?: readonly { path: string; message: string }[];
}

/** A call that is refused and changes nothing. */
export async function refusedBy(
  service: TestService,
  path: string,
  body: object,
  options: { rootKey?: string } = {},
): Promise<Refusal> {
  const before = storedIn(service.folder);
  const answer = await service.call(path, body, options);
  expect(storedIn(service.folder)).toEqual(before);
  const { code, message, issues } = answer.body.error as Refusal;
  return { status: answer.status, code, message, ...(issues === undefined ? {} : { issues }) };
}

/** The secret of a new root key with these rights and no others. */
export async function rootKeyWith(service: TestService, ...rights: string[]): Promise<string> {
  return (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
}
