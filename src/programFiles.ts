/**
 * The files that the program opens or runs by their path. All are found from this folder, because a bundle of the program
 * (tools/launch/bundle.mjs) has a folder of its own in its place.
 */
export const PROGRAM_FILES = {
  docs: new URL('../docs/', import.meta.url),
  /** The sources of the dashboard. */
  web: new URL('../web/', import.meta.url),
  /** What the dashboard is made of besides. */
  sdk: new URL('../sdk/src/', import.meta.url),
  core: new URL('../src/core/', import.meta.url),
  /** The dashboard as `npm pack` builds it, and as a clone keeps it. */
  packedDashboard: new URL('../web/built/dashboard.json', import.meta.url),
  cachedDashboard: new URL('../node_modules/.cache/keystile/dashboard.json', import.meta.url),
  assets: new URL('../src/http/docs/', import.meta.url),
  /** The entry of a worker thread, without its extension: a bundle has another one. */
  thread: new URL('./storage/sqlite/thread/thread', import.meta.url),
};
