import type { FieldRights } from '../shapes/fieldRights.ts';

interface Rights {
  readonly rights: readonly string[];
  readonly isOneRightEnough?: true;
  readonly fieldRights?: readonly FieldRights[];
}

/** The rights that a root key needs for a call, in words. */
export function neededRights({ rights, isOneRightEnough, fieldRights = [] }: Rights): string {
  const needed = rights.map(inCode).join(isOneRightEnough === true ? ' or ' : ' and ');
  return `Needs ${needed}${fieldRights.map(forFields).join('')}.`;
}

function forFields({ fields, rights, unless }: FieldRights): string {
  const except = unless === undefined ? '' : `, unless it has ${inCode(unless)}`;
  return `; with ${fields.map(inCode).join(' or ')} also ${rights.map(inCode).join(' and ')}${except}`;
}

function inCode(text: string): string {
  return `\`${text}\``;
}
