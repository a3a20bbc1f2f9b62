import { defineCheck } from '../../check.ts';

export const moved = defineCheck({
  name: 'moved',
  meaning: 'The database was not moved to another one, and no import into it is unfinished.',
  severity: 'problem',
  needs: ['useRefusal'],
  find({ useRefusal }) {
    if (useRefusal === null) return null;
    const { kind, text } = useRefusal;
    if (kind === 'import')
      return {
        text,
        fix: 'Run the same import of a file again. After an import from a pipe, drop the database, and begin again.',
        command: 'keystile data import FILE',
      };
    return {
      text,
      fix: 'Start the service in the other place. Release this database only if the other one is never used.',
      command: 'keystile data release',
    };
  },
});
