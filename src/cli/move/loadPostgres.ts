/** The client of PostgreSQL, which a command on the embedded database does not load. */
export const LOAD_POSTGRES = {
  read: () => import('../../storage/postgres/move.ts'),
  write: () => import('../../storage/postgres/move.ts'),
  hold: () => import('../../storage/postgres/move/databaseHold.ts'),
};
