/** What version 4 adds. */
export const SCHEMA_V4 = ``;

export const INDEXES_V4 = ``;
