/** What is counted behind the answers is in a file of its own: see analyticsFile.ts, which has taken it over before. */
export const SCHEMA_V3 = `
  DROP TABLE key_tallies;
  DROP TABLE api_tallies;
  DROP TABLE key_uses;
  DROP TABLE edge_counts;
  `;
