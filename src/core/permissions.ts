/**
 * What a request may ask of a key's permissions. Wildcards count on the key's side only: in a held permission a `*` between
 * dots stands for one word, and at the end for one word or more. In a query a `*` is just a character.
 */
export type PermissionQuery =
  | string
  | { readonly and: readonly PermissionQuery[] }
  | { readonly or: readonly PermissionQuery[] };

/** What a key may do: its permissions, direct and through roles, ready to be asked. */
export interface HeldPermissions {
  readonly exact: ReadonlySet<string>;
  /** Those with wildcards. */
  readonly shapes: readonly Shape[];
}

/** Wildcards that have as many words and a `*` in the same places: with `*` there, what is asked for is one of them or none. */
interface Shape {
  readonly length: number;
  /** Ends in `*`, which stands for one word or more. */
  readonly isOpen: boolean;
  /** Where there is a `*`. */
  readonly stars: readonly number[];
  readonly names: Set<string>;
}

export function holdPermissions(names: readonly string[]): HeldPermissions {
  const shapes = new Map<string, Shape>();
  for (const name of names) if (name.includes('*')) addToShape(shapes, name);
  return { exact: new Set(names), shapes: [...shapes.values()] };
}

function addToShape(shapes: Map<string, Shape>, name: string): void {
  const words = name.split('.');
  const stars = words.flatMap((word, i) => (word === '*' ? i : []));
  if (stars.length === 0) return;
  const { length } = words;
  const outline = `${length} ${stars.join(' ')}`;
  const shape = shapes.get(outline) ?? { length, isOpen: stars.at(-1) === length - 1, stars, names: new Set<string>() };
  shape.names.add(name);
  shapes.set(outline, shape);
}

export function satisfies(held: HeldPermissions, query: PermissionQuery): boolean {
  if (typeof query === 'string') return holds(held, query);
  return 'and' in query
    ? query.and.every((part) => satisfies(held, part))
    : query.or.some((part) => satisfies(held, part));
}

/** However many wildcards a key has, they are of a few shapes: each shape is asked once. */
function holds({ exact, shapes }: HeldPermissions, asked: string): boolean {
  if (exact.has(asked)) return true;
  if (shapes.length === 0) return false;
  const words = asked.split('.');
  return shapes.some((shape) => hasFitting(shape, words));
}

function hasFitting({ length, isOpen, stars, names }: Shape, words: readonly string[]): boolean {
  if (isOpen ? words.length < length : words.length !== length) return false;
  const outlined = words.slice(0, length);
  for (const star of stars) outlined[star] = '*';
  return names.has(outlined.join('.'));
}
