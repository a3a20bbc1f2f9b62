import type { Endpoint } from '../../src/cli/endpoint/endpoint.ts';
import { endpointCommand } from '../../src/cli/endpoint/endpointCommand.ts';
import { endpointTable } from './endpointTable.ts';

/** The table of commands in docs/cli.md that are made from endpoints. */
export function commandsTable(): string {
  const rows = endpointTable()
    .toSorted(byCommand)
    .map((endpoint) => {
      const { name, operands, flags } = endpointCommand(endpoint);
      const shown = Object.entries(flags).map(([flag, { value, isRepeatable }]) => {
        const what = value === null ? '' : ` ${value.replaceAll('|', ' or ')}`;
        return `\`--${flag}${what}\`${isRepeatable === true ? '...' : ''}`;
      });
      return `| \`${[name, ...operands].join(' ')}\` | ${endpoint.summary.replaceAll('|', String.raw`\|`)} | ${shown.join(', ')} |`;
    });
  return ['| Command | What it does | Flags |', '|---|---|---|', ...rows].join('\n');
}

function byCommand(a: Endpoint, b: Endpoint): number {
  return a.command < b.command ? -1 : 1;
}
