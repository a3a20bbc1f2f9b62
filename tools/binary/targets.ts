/** The platforms that the program can be made for. */
export const TARGETS = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
] as const;

export type Target = (typeof TARGETS)[number];

/** This machine, in the words of TARGETS. A C library other than glibc is not told. */
export const HERE = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** How the executable file of a version is called. */
export function fileName(version: string, target: string): string {
  return `keystile-${version}-${target}${target.startsWith('windows') ? '.exe' : ''}`;
}
