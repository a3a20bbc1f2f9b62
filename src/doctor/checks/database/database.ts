import { defineCheck, type Finding, quoted } from '../../check.ts';

/** The SQLSTATE of a statement that PostgreSQL refuses however often it is sent, as failures name it. */
const REFUSED_STATE = /\[(42\w{3})\]/;
const INSUFFICIENT_PRIVILEGE = '42501';

export const database = defineCheck({
  name: 'database',
  meaning: 'The database answers, and no commit fails.',
  severity: 'problem',
  needs: ['databaseFailure', 'config'],
  find({ databaseFailure, config }) {
    if (databaseFailure === null) return null;
    const text = `The database cannot be used, and spends are refused: ${databaseFailure}`;
    if (config.databaseUrl === null)
      return {
        text,
        fix: `Check the disk of ${config.data} and the log of the service. Commits go on when there is space again; after a failure of the disk, start the service again.`,
        command: `df -h ${quoted(config.data)}`,
      };
    const [, state] = REFUSED_STATE.exec(databaseFailure) ?? [];
    if (state !== undefined) return { text, ...afterRefusal(state) };
    return {
      text,
      fix: 'Check that PostgreSQL runs, that this node reaches it, and that its standby is connected. The node goes on by itself.',
      command: `psql "$KEYSTILE_DATABASE_URL" -c 'select pg_is_in_recovery()'`,
    };
  },
});

function afterRefusal(state: string): Pick<Finding, 'fix' | 'command'> {
  const fix =
    state === INSUFFICIENT_PRIVILEGE
      ? 'Let KEYSTILE_DATABASE_URL name the role that owns the tables. The command shows the owner of each.'
      : 'The tables are not those of Keystile: check KEYSTILE_DATABASE_URL. The command shows which tables there are.';
  return { fix, command: String.raw`psql "$KEYSTILE_DATABASE_URL" -c '\dt'` };
}
