/**
 * How the user can call this program again, from the folder where it was started. npx takes a program that is not installed from the registry,
 * where anybody may have given it this name: so it is advised only to whoever has done that, and else without its download.
 */
export function programName(environment: Readonly<Record<string, string | undefined>>): string {
  const event = environment['npm_lifecycle_event'];
  if (event === undefined) return 'keystile';
  if (environment['npm_package_name'] === 'keystile') return 'npm run -s keystile --';
  return event === 'npx' ? 'npx keystile' : 'npx --no keystile';
}
