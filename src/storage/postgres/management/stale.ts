import type { AccountMark } from '../../../core/account.ts';

/** The records or accounts are no longer those that the change was made for. */
export class Stale extends Error {
  readonly mark: AccountMark | undefined;

  constructor(mark?: AccountMark) {
    super();
    this.mark = mark;
  }
}
