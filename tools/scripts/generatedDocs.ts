import { configurationTable } from '../../src/config/show.ts';
import { ERRORS } from '../../src/core/errors.ts';

/** The parts of the documentation that are generated from the code, between `<!-- made from ... -->` and `<!-- end -->`. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': configurationTable,
  'docs/errors.md': errorsTable,
};

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
