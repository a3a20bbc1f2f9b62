import { defineCheck } from '../../check.ts';

export const schema = defineCheck({
  name: 'schema',
  meaning: 'The schema of the database fits this program.',
  severity: 'problem',
  needs: ['schema', 'config'],
  find({ schema: { version, compatibleFrom, own, isForeign }, config }) {
    const setting = config.databaseUrl === null ? 'KEYSTILE_DATA' : 'KEYSTILE_DATABASE_URL';
    if (version === 0)
      return {
        text: 'The database is empty: no service was started on it yet.',
        fix: `Start the service, which makes the tables, or set ${setting} to the database of the service.`,
        command: 'keystile serve',
      };
    if (isForeign)
      return {
        text: 'The database was written by a program before 0.1.0, which this program cannot read.',
        fix: `Set ${setting} to another database, and create or import the keys again.`,
        command: 'keystile import FILE --api ID',
      };
    if (version > own && compatibleFrom > own)
      return {
        text: `The database has schema version ${version}, and this program is for ${own}.`,
        fix: 'Run the newer version of Keystile that wrote it.',
        command: 'keystile --version',
      };
    if (version < own)
      return {
        text: `The database has schema version ${version}, and this program is for ${own}.`,
        fix: 'Start the service, which brings the database to the newer version.',
        command: 'keystile serve',
      };
    return null;
  },
});
