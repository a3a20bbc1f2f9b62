import { expect } from 'bun:test';

import type { UsageRow } from '../../../src/cli/commands/usage.ts';
import { planCalls } from '../plans/planCalls.ts';
import type { Answer, TestService } from '../../support/service.ts';

export type Fields = Record<string, unknown>;

export type Row = UsageRow;

export interface Page {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

export const at = (text: string): number => Date.parse(text);

/** Everything that was read adds up: in each row, and from row to row of the same holder. */
export function expectToAddUp(rows: readonly Row[]): void {
  for (const [i, row] of rows.entries()) {
    const { opening, granted, refilled, adjusted, spent, expired, closing } = row;
    expect([row, opening + granted + refilled + adjusted - spent - expired]).toEqual([row, closing]);
    const before = rows[i - 1];
    if (before === undefined || holderOf(before) !== holderOf(row)) continue;
    expect([before.start < row.start, before.closing]).toEqual([true, opening]);
    expect((before.end ?? Infinity) <= row.start).toBe(true);
  }
}

export const holderOf = ({ keyId, identityId }: Row): string => keyId ?? identityId ?? '';

/** A row in few words: when, and what is not 0. */
export function short({ start, end, ...row }: Row): string {
  const time = (ms: number): string =>
    new Date(ms)
      .toISOString()
      .replace(/:00\.000Z$/, '')
      .replace('T00:00', '');
  const figures = Object.entries(row).filter(([, value]) => typeof value === 'number' && value !== 0);
  const words = figures.map(([name, value]) => `${name} ${value}`).join(', ');
  return `${time(start)} .. ${end === undefined ? '' : time(end)}: ${words}`;
}

/** Identities on plans, each with a key. */
export function customerCalls(using: () => TestService) {
  const calls = planCalls(using);
  const holder = async (planId: string, fields: Fields = {}) => {
    const { who, id: identityId, key, keyId } = await calls.holder(planId, fields);
    return { externalId: who.externalId ?? '', identityId, key, keyId };
  };
  return { plan: calls.plan, holder };
}

/** Calls about statements. */
export function usageCalls(using: () => TestService) {
  const call = (query: Fields, options = {}): Promise<Answer> =>
    using().call('/v1/usage.getStatement', { per: 'day', ...query }, options);
  const page = async (query: Fields): Promise<Page> => {
    const answer = await call(query);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    const { rows } = answer.body as Page;
    expectToAddUp(rows);
    return answer.body as Page;
  };
  const shown = async (query: Fields): Promise<string[]> => (await page(query)).rows.map(short);
  /** All pages. */
  const all = async (query: Fields): Promise<{ rows: Row[]; pages: number }> => {
    const rows: Row[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const next: Page = await page({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      rows.push(...next.rows);
      cursor = next.cursor;
      pages++;
    } while (cursor !== undefined);
    expectToAddUp(rows);
    return { rows, pages };
  };
  const spend = (key: string, cost: number): Promise<unknown> => using().verify(key, { remaining: { cost } });
  const refused = async (query: Fields, options = {}): Promise<unknown[]> => {
    const { status, body } = await call(query, options);
    return [status, (body as { error?: { message?: string } } | undefined)?.error?.message];
  };
  return { call, page, shown, all, spend, refused };
}
