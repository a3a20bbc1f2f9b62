import type { QueryConfig } from 'pg';

import type { Pockets } from '../../../core/pockets.ts';
import type { Reservation } from '../../../core/reservation.ts';
import type { StoredCredits } from '../../port/batchCredits.ts';
import { int8List } from '../connection/binaryLists.ts';

export interface PocketsRow {
  readonly account: number;
  readonly state: string;
}

/** Asked after the accounts are locked: nobody else changes their pockets then. */
export function pocketsQuery(accounts: readonly number[]): QueryConfig {
  return {
    name: 'pockets',
    text: 'SELECT account, state FROM pockets WHERE account = ANY ($1::bigint[])',
    values: [int8List(accounts)],
  };
}

/** What a transaction has read of reservations. */
export interface ReadReservations {
  readonly found: readonly Reservation[];
  readonly live: number;
}

export function storedPockets(
  rows: readonly PocketsRow[],
  { found, live }: ReadReservations = { found: [], live: 0 },
): StoredCredits {
  const pockets = new Map(rows.map(({ account, state }) => [account, JSON.parse(state) as Pockets]));
  const byId = new Map(found.map((each) => [each.id, each]));
  return {
    pockets: (account) => pockets.get(account) ?? null,
    reservation: (id) => byId.get(id),
    reservationUnder: (keyId, id) => found.find((each) => each.keyId === keyId && each.idempotency?.id === id),
    liveReservations: () => live,
  };
}
