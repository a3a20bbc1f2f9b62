import type { ComponentChildren } from 'preact';

import { lineField } from './edit/fields.tsx';
import type { EditedField } from './edit/editForm.tsx';
import labels from './plainLines.json';

/** The plain lines of text of keys and customers, beside their names. `npm run docs` lists them from src/model. */

type Kind = keyof typeof labels;

/** As lines of a form. */
export function plainFields<Of extends object>(kind: Kind): EditedField<Of>[] {
  return Object.entries<string>(labels[kind]).map(([name, label]) =>
    lineField({ name, label }, (record) => textOf(record, name)),
  );
}

/** As rows of facts. */
export function plainFacts(kind: Kind, record: object): (readonly [string, ComponentChildren])[] {
  return Object.entries<string>(labels[kind]).map(([name, label]) => {
    const text = textOf(record, name);
    return [label, text !== undefined && <bdi>{text}</bdi>];
  });
}

function textOf(record: object, name: string): string | undefined {
  const value = (record as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}
