import { commandsTable } from './commandsTable.ts';
import { configurationTable } from './configurationTable.ts';
import { importColumnsTable } from './importColumns.ts';
import { EVENT_TYPES } from '../../src/core/events.ts';
import { ERRORS } from '../../src/core/errors.ts';
import { grantsTo } from '../../src/storage/postgres/schema/tableRights.ts';
import { drawSpeed } from '../bench/plotSpeed.ts';
import { readSpeed, speedTable } from '../bench/speed.ts';

/** The parts of pages that are made from code or figures, between `<!-- made from ... -->` and `<!-- end -->`. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': configurationTable,
  'docs/cli.md': commandsTable,
  'docs/imports.md': importColumnsTable,
  'docs/webhooks.md': eventsTable,
  'docs/errors.md': errorsTable,
  'docs/scaling.md': () => ['```', ...grantsTo('keystile'), '```'].join('\n'),
  'README.md': () => speedTable(readSpeed()),
};

/** Files that are made as a whole. */
export const DRAWN: Readonly<Record<string, () => string>> = {
  'docs/speed.svg': () => drawSpeed(readSpeed()),
};

function eventsTable(): string {
  const rows = Object.entries(EVENT_TYPES).map(([type, { when }]) => `| \`${type}\` | ${when} |`);
  return ['| Type | When |', '|---|---|', ...rows].join('\n');
}

function errorsTable(): string {
  const rows = Object.entries(ERRORS).map(([code, { status, when }]) => `| \`${code}\` | ${status} | ${when} |`);
  return ['| Code | Status | When |', '|---|---|---|', ...rows].join('\n');
}

/** The page with its generated part replaced. */
export function regenerate(page: string, part: string): string {
  const [head, tail] = [/^[\s\S]*<!-- made from .* -->\n/.exec(page)?.[0], /\n<!-- end -->[\s\S]*$/.exec(page)?.[0]];
  if (head === undefined || tail === undefined) throw new Error('The page has no generated part.');
  return head + part + tail;
}
