/**
 * The files that the program opens or runs by their path. All are found from this folder, because a bundle of the program
 * (tools/launch/bundle.mjs) has a folder of its own in its place.
 */
export const PROGRAM_FILES = {
  docs: new URL('../docs/', import.meta.url),
  /** The sources of the dashboard and of the customers' page. */
  web: new URL('../web/', import.meta.url),
  /** What these pages are made of besides. */
  sdk: new URL('../sdk/src/', import.meta.url),
  core: new URL('../src/core/', import.meta.url),
  /** The pages as `npm pack` builds them, and as a clone keeps them. */
  packedPages: new URL('../web/built/pages.json', import.meta.url),
  cachedPages: new URL('../node_modules/.cache/keystile/pages.json', import.meta.url),
  assets: new URL('../src/http/docs/', import.meta.url),
  /** The entry of a worker thread, without its extension: a bundle has another one. */
  thread: new URL('./storage/sqlite/thread/thread', import.meta.url),
};
