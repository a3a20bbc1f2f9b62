import { IDENTITY_PLAIN } from '../../src/model/identities.ts';
import { KEY_PLAIN } from '../../src/model/keys.ts';
import type { Plain } from '../../src/model/plainFields.ts';

/** The lines of text that a page shows and edits beside the name, by the label of each: a page cannot read src/model, which needs a validator. */
export function plainLines(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return { key: linesOf(KEY_PLAIN), customer: linesOf(IDENTITY_PLAIN) };
}

function linesOf(fields: Readonly<Record<string, Plain>>): Record<string, string> {
  const lines = Object.entries(fields).filter(([name, { kind }]) => kind === 'line' && name !== 'name');
  return Object.fromEntries(lines.map(([name]) => [name, labelOf(name)]));
}

/** `costCentre` is "Cost centre". */
function labelOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
