const PAGE_SIZE = 50;

/** The fields of a request for the page behind a cursor. */
export const from = (cursor: string | undefined): { limit: number; cursor?: string } =>
  cursor === undefined ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, cursor };
