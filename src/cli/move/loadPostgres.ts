/** The client of PostgreSQL, which a command on the embedded database does not load. */
export const LOAD_POSTGRES = {
  read: () => import('../../storage/postgres/move/readData.ts'),
  write: () => import('../../storage/postgres/move/writeData.ts'),
  hold: () => import('../../storage/postgres/move/databaseHold.ts'),
};
