import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** The packages of the program with their versions, as text. */
export const DEPENDENCIES: string = JSON.stringify(manifest.dependencies);
