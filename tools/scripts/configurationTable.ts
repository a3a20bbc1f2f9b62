import { flagName, type Setting, VARIABLES } from '../../src/config/variables.ts';

/** The table in docs/configuration.md. */
export function configurationTable(): string {
  const rows = (Object.keys(VARIABLES) as Setting[]).map((setting) => {
    const { name, fallback, kind, meaning } = VARIABLES[setting];
    const file = 'isSecret' in VARIABLES[setting] ? ` or \`${name}_FILE\`` : '';
    return `| \`${name}\`${file} | \`${flagName(setting)}\` | ${kind.label} | ${fallback === null ? 'none' : `\`${fallback}\``} | ${meaning} |`;
  });
  return ['| Variable | Flag | Value | Default | Meaning |', '|---|---|---|---|---|', ...rows].join('\n');
}
