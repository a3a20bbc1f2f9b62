import { defineCheck, psql } from '../../check.ts';

export const databaseSettings = defineCheck({
  name: 'database-settings',
  meaning: 'The settings of the database keep what was answered, also after a crash.',
  severity: 'problem',
  needs: ['databaseWarnings'],
  find({ databaseWarnings }) {
    if (databaseWarnings.length === 0) return null;
    return {
      text: databaseWarnings.join(' '),
      fix: 'Change the setting of PostgreSQL as the message says, and reload PostgreSQL.',
      command: psql(...switchOn(databaseWarnings), 'select pg_reload_conf()'),
    };
  },
});

/** A statement for each setting that is off. Which standby is awaited is for the operator to say. */
function switchOn(warnings: readonly string[]): string[] {
  const settings = warnings.flatMap((warning) => /\b(\w+) = off/.exec(warning)?.[1] ?? []);
  return settings.map((setting) => `alter system set ${setting} = on`);
}
