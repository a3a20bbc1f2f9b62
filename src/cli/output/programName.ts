/** How the user can call this program again, from the folder where it was started. */
export function programName(environment: Readonly<Record<string, string | undefined>>): string {
  if (environment['npm_lifecycle_event'] === undefined) return 'keystile';
  return environment['npm_package_name'] === 'keystile' ? 'npm run -s keystile' : 'npx keystile';
}
