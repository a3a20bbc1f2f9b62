import type { FieldRights } from '../shapes/schema/fieldRights.ts';

interface Rights {
  readonly rights: readonly string[];
  readonly isOneRightEnough?: true;
  readonly fieldRights?: readonly FieldRights[];
  readonly insteadRights?: readonly FieldRights[];
}

/** The rights that a root key needs for a call, in words. */
export function neededRights({ rights, isOneRightEnough, fieldRights = [], insteadRights = [] }: Rights): string {
  const needed = rights.map(inCode).join(isOneRightEnough === true ? ' or ' : ' and ');
  return `Needs ${needed}${[...fieldRights.map(forFields), ...insteadRights.map(instead)].join('')}.`;
}

function forFields({ fields, rights, unless }: FieldRights): string {
  const except = unless === undefined ? '' : `, unless it has ${inCode(unless)}`;
  return `; with ${fields.map(inCode).join(' or ')} also ${rights.map(inCode).join(' and ')}${except}`;
}

function instead({ fields, rights }: FieldRights): string {
  return `; with ${fields.map(inCode).join(' or ')} instead ${rights.map(inCode).join(' and ')}`;
}

function inCode(text: string): string {
  return `\`${text}\``;
}
