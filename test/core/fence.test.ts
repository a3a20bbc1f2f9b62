import { describe, expect, test } from 'bun:test';

import { type Fence, recordFence } from '../../src/core/fence.ts';
import { decideSpend, type RecordsCheck, type Spend } from '../../src/core/spend.ts';
import { credits, View } from './ledgerView.ts';

/** Records with revisions, and a count of how often one is looked at. */
class Records extends View {
  override lastChange = 1;
  looks = 0;
  revision = 1;

  override isCurrent({ revision }: Fence): boolean {
    this.looks++;
    return revision === this.revision;
  }

  change(): void {
    this.revision++;
    this.lastChange++;
  }
}

function setup() {
  const view = new Records();
  view.accounts.set(1, credits(10));
  const lastCheck: RecordsCheck = { checkedAt: 0 };
  const spend = (fields: Partial<Spend> = {}): string => {
    const charge = { account: 1, amount: 1, revision: 1, rule: { kind: 'credits', refill: null } } as const;
    const fences = [recordFence('identity', 'id_1', 1)];
    return decideSpend(view, { charges: [charge], fences, idempotency: null, lastCheck, ...fields }, 0, 1).status;
  };
  return { view, lastCheck, spend };
}

describe('a lastCheck about the records that decide spends', () => {
  test('saves looking at fences while no record has changed', () => {
    const { view, lastCheck, spend } = setup();
    expect([spend(), spend(), spend()]).toEqual(['taken', 'taken', 'taken']);
    expect([view.looks, lastCheck.checkedAt]).toEqual([1, 1]);
  });

  test('never hides a change', () => {
    const { view, spend } = setup();
    spend();
    view.change();
    expect(spend()).toBe('stale');
  });

  test('is made again after a change of other records', () => {
    const { view, lastCheck, spend } = setup();
    spend();
    view.lastChange++;
    expect([spend(), spend()]).toEqual(['taken', 'taken']);
    expect([view.looks, lastCheck.checkedAt]).toEqual([2, 2]);
  });

  test('is not made by a spend that is stale, whichever record is why', () => {
    const { view, lastCheck, spend } = setup();
    view.revision = 2;
    expect(spend()).toBe('stale');
    view.revision = 1;
    view.accounts.set(1, { ...credits(10), revision: 2 });
    expect(spend()).toBe('stale');
    expect(lastCheck.checkedAt).toBe(0);
  });

  test('is not used where changes are not counted, or without a lastCheck', () => {
    const { view, lastCheck, spend } = setup();
    expect([spend({ lastCheck: undefined }), spend({ lastCheck: undefined })]).toEqual(['taken', 'taken']);
    expect(view.looks).toBe(2);
    view.lastChange = 0;
    expect([spend(), spend()]).toEqual(['taken', 'taken']);
    expect([view.looks, lastCheck.checkedAt]).toEqual([4, 0]);
  });
});
