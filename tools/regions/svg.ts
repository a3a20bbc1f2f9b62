/** Basic SVG elements for plots. Colours are classes, so that the style sheet can change them for dark pages. */

export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Axis {
  readonly title: string;
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  /** Converts a value to a coordinate of the drawing. */
  readonly place: (value: number) => number;
}

type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? short(value) : value}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return element('text', { x, y, ...attributes }, escaped);
}

export function line(x1: number, y1: number, x2: number, y2: number, style: string): string {
  return element('line', { x1, y1, x2, y2, class: style });
}

/** Circles of one style. */
export function dots(points: readonly (readonly [x: number, y: number])[], radius: number, style: string): string {
  const circles = points.map(([x, y]) => element('circle', { cx: x, cy: y, r: radius }));
  return element('g', { class: style }, circles.join(''));
}

export function linear(from: number, to: number, start: number, end: number): Axis['place'] {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

export function logarithmic(from: number, to: number, start: number, end: number): Axis['place'] {
  const place = linear(Math.log10(from), Math.log10(to), start, end);
  return (value) => place(Math.log10(Math.min(to, Math.max(from, value))));
}

/** Draws grid, labels and titles of both axes. */
export function axes({ left, top, width, height }: Frame, x: Axis, y: Axis): string {
  const [right, bottom] = [left + width, top + height];
  return [
    ...x.ticks.map(({ at }) => line(x.place(at), top, x.place(at), bottom, 'grid')),
    ...x.ticks.map(({ at, label }) => text(x.place(at), bottom + 16, label, { class: 'soft middle' })),
    ...y.ticks.map(({ at }) => line(left, y.place(at), right, y.place(at), 'grid')),
    ...y.ticks.map(({ at, label }) => text(left - 8, y.place(at) + 4, label, { class: 'soft end' })),
    line(left, bottom, right, bottom, 'axis'),
    line(left, top, left, bottom, 'axis'),
    text(left + width / 2, bottom + 34, x.title, { class: 'middle' }),
    text(0, 0, y.title, { class: 'middle', transform: `translate(${left - 54} ${top + height / 2}) rotate(-90)` }),
  ].join('');
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
