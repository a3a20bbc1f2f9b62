export const NO_PERMISSIONS = { grants: new Map(), shapes: [] };
export function holdPermissions(grants) {
  const shapes = new Map();
  for (const { slug } of grants) if (slug.includes('*')) addShape(shapes, slug.split('.'));
  return { grants: new Map(grants.map((grant) => [grant.slug, grant])), shapes: [...shapes.values()] };
}
function addShape(shapes, words) {
  const stars = words.flatMap((word, i) => (word === '*' ? i : []));
  if (stars.length === 0) return;
  const { length } = words;
  shapes.set(`${length} ${stars.join(' ')}`, { length, isOpen: stars.at(-1) === length - 1, stars });
}
export function satisfies(held, query) {
  if (typeof query === 'string') return holds(held, query);
  return 'and' in query
    ? query.and.every((part) => satisfies(held, part))
    : query.or.some((part) => satisfies(held, part));
}
/** The grants that satisfy the query. Of alternatives, only the first that the key holds. */
export function grantsFor(held, query) {
  if (typeof query === 'string') {
    const grant = findGrant(held, query);
    return grant === null ? [] : [grant];
  }
  if ('and' in query) return query.and.flatMap((part) => grantsFor(held, part));
  const first = query.or.find((part) => satisfies(held, part));
  return first === undefined ? [] : grantsFor(held, first);
}
function holds(held, asked) {
  return findGrant(held, asked) !== null;
}
/** A key may have many wildcards, but they have few shapes. Each shape takes one lookup. */
function findGrant({ grants, shapes }, asked) {
  const grant = grants.get(asked);
  if (grant !== undefined) return grant;
  if (shapes.length === 0) return null;
  const words = asked.split('.');
  for (const shape of shapes) {
    const fitting = fits(shape, words) ? grants.get(outlined(shape, words)) : undefined;
    if (fitting !== undefined) return fitting;
  }
  return null;
}
function fits({ length, isOpen }, words) {
  return isOpen ? words.length >= length : words.length === length;
}
function outlined({ length, stars }, words) {
  const outline = words.slice(0, length);
  for (const star of stars) outline[star] = '*';
  return outline.join('.');
}
