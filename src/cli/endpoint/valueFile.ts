import { readFileSync } from 'node:fs';

import { failed } from '../cliError.ts';
import type { EndpointField } from './endpoint.ts';
import { nameOf } from './values.ts';

/** `@FILE` in place of JSON reads it from a file: one object, or for a list one object on each line. */
export function withFile(field: EndpointField, text: string): readonly string[] {
  if (field.kind !== 'json' || !text.startsWith('@')) return [text];
  const content = readText(field, text.slice(1));
  return field.isList === true ? content.split('\n').filter((line) => line.trim() !== '') : [content];
}

function readText(field: EndpointField, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as { code?: string };
    throw failed(`The file ${path} of ${nameOf(field)} cannot be read (${code}).`);
  }
}
