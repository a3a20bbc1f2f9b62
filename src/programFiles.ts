/** Where this file is. One executable file (tools/binary) has all files inside of it, below a folder in place of the project's. */
const HERE = Bun.isStandaloneExecutable ? Bun.pathToFileURL(`${import.meta.dir}/src/programFiles.ts`) : import.meta.url;

/**
 * The files that the program opens or runs by their path. All are found from this folder, because a bundle of the program
 * (tools/launch/bundle.mjs) has a folder of its own in its place.
 */
export const PROGRAM_FILES = {
  docs: new URL('../docs/', HERE),
  /** One executable file has the pages as they were built, and no sources of them. */
  hasSources: !Bun.isStandaloneExecutable,
  /** The sources of the dashboard and of the customers' page. */
  web: new URL('../web/', HERE),
  /** What these pages are made of besides. */
  sdk: new URL('../sdk/src/', HERE),
  /** What the service hands out: the packages of the SDK and of the clients for Python and Go. */
  sdkPackage: new URL('../sdk/', HERE),
  clients: new URL('../clients/', HERE),
  /** What the fake of the SDK and the pages share with the service. */
  core: new URL('../src/core/', HERE),
  basics: new URL('../src/basics/', HERE),
  /** The pages as `npm pack` builds them, and as a clone keeps them. */
  packedPages: new URL('../web/built/pages.json', HERE),
  /** The same packages as `npm pack` makes them. */
  packedClients: new URL('../web/built/', HERE),
  cachedPages: new URL('../node_modules/.cache/keystile/pages.json', HERE),
  assets: new URL('../src/http/docs/', HERE),
  /** The entry of a worker thread, without its extension: a bundle has another one. */
  thread: new URL(`./storage/sqlite/thread/thread${Bun.isStandaloneExecutable ? '.js' : ''}`, HERE),
};
