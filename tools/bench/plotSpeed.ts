import { dots, element, line, linear, text } from '../regions/svg.ts';
import { type Speed, titleOf } from './speed.ts';
import { median } from './statistics.ts';

const WIDTH = 900;
const LEFT = 370;
const RIGHT = 860;
const TOP = 64;
const ROW = 34;
const TICKS = [0, 0.25, 0.5, 0.75, 1, 1.25];

/** It brings its own background, light or dark as the reader prefers, so it can be read on any page. */
const STYLE = `
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1d2530}
.ground{fill:#fff}.soft{fill:#556070}.head{font-size:15px;font-weight:600}.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:#e3e7ec}.bare{stroke:#d93a3f;stroke-width:1.5;stroke-dasharray:6 4}.warn{fill:#c62a2f}
.bar{fill:#2f74e0;fill-opacity:.25}.median{stroke:#2f74e0;stroke-width:3}.run{fill:#2f74e0}
@media(prefers-color-scheme:dark){text{fill:#e7eaee}.ground{fill:#161b22}.soft{fill:#a3adb9}.warn{fill:#ff7b7f}
.grid{stroke:#2a313b}.bare{stroke:#ff6a6f}.bar{fill:#6ea8ff;fill-opacity:.3}.median{stroke:#6ea8ff}.run{fill:#6ea8ff}}
`;

/** docs/speed.svg: for each row a bar up to the median, and a dot for each run. */
export function drawSpeed({ machine, rows }: Speed): string {
  const bottom = TOP + rows.length * ROW;
  const height = bottom + 48;
  const x = linear(0, TICKS.at(-1) ?? 1, LEFT, RIGHT);
  const content = [
    element('title', {}, 'Requests per second as a share of a bare handler'),
    element('style', {}, STYLE),
    element('rect', { width: WIDTH, height, rx: 8, class: 'ground' }),
    text(20, 28, 'Requests per second as a share of a bare handler', { class: 'head' }),
    text(20, 48, `${machine}. A dot is a run, the bar ends at the median.`, { class: 'soft' }),
    ...TICKS.map((at) => line(x(at), TOP, x(at), bottom, 'grid')),
    ...TICKS.map((at) => text(x(at), bottom + 18, at.toFixed(2), { class: 'soft middle' })),
    ...rows.map((row, i) => {
      const runs = row.runs.map(({ ratio }) => ratio);
      const [middle, end] = [TOP + (i + 0.5) * ROW, x(median(runs))];
      return [
        text(LEFT - 12, middle + 4, titleOf(row.name), { class: 'end' }),
        element('rect', { x: LEFT, y: middle - 9, width: end - LEFT, height: 18, class: 'bar' }),
        line(end, middle - 9, end, middle + 9, 'median'),
        dots(
          runs.map((run) => [x(run), middle] as const),
          3,
          'run',
        ),
      ].join('');
    }),
    line(x(1), TOP, x(1), bottom, 'bare'),
    text(x(1), bottom + 36, 'the bare handler', { class: 'warn middle' }),
  ];
  const root = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}`, role: 'img' };
  return `${element('svg', { ...root, width: WIDTH, height }, content.join('\n'))}\n`;
}
