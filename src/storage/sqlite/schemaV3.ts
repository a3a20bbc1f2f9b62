/** Counts of verifications are in a file of their own: see analyticsFile.ts, which has taken them over before. */
export const SCHEMA_V3 = `
  DROP TABLE key_tallies;
  DROP TABLE api_tallies;
  DROP TABLE key_uses;
  `;
