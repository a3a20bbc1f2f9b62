import type { Check } from '../check.ts';

export const databaseSettings: Check = {
  name: 'database-settings',
  meaning: 'The settings of the database keep what was answered, also after a crash.',
  severity: 'problem',
  find({ databaseWarnings }) {
    if (databaseWarnings.length === 0) return null;
    return {
      text: databaseWarnings.join(' '),
      fix: 'Change the setting of PostgreSQL as the message says, and reload PostgreSQL.',
    };
  },
};
