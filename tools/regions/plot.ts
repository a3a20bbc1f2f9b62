import { latencyPanel, overshootPanel, pathsPanel, strictPanel } from './panels.ts';
import type { Results } from './promises.ts';
import { LOCAL_LIMIT } from './overshoot.ts';
import { element, type Frame, text } from './svg.ts';

const WIDTH = 1000;
const HEIGHT = 800;
const TOP = 96;
const PANEL = { width: 480, height: 340 };

/** The plot has its own background, light or dark as the reader prefers, so that it is readable on any page. */
const STYLE = `
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1d2530}
.ground{fill:#fff}.soft{fill:#556070}.title{font-size:20px;font-weight:600}.head{font-size:14px;font-weight:600}
.middle{text-anchor:middle}.end{text-anchor:end}.warn{fill:#c62a2f}
.grid{stroke:#e3e7ec}.axis{stroke:#8a94a1}.bound{stroke:#d93a3f;stroke-width:1.5;stroke-dasharray:6 4}
.r0{--c:#2f74e0}.r1{--c:#dd8500}.r2{--c:#0c9b76}
.filled{fill:var(--c)}.faint{fill:var(--c);fill-opacity:.45}.hollow{fill:#fff;stroke:var(--c);stroke-width:2}
.range{stroke:var(--c);stroke-width:2}.median{stroke:var(--c);stroke-width:3}
.curve{fill:none;stroke:#8b5cf6;stroke-width:2}.trial{fill:#8b5cf6;fill-opacity:.7}
@media(prefers-color-scheme:dark){text{fill:#e7eaee}.ground{fill:#161b22}.soft{fill:#a3adb9}.warn{fill:#ff7b7f}
.grid{stroke:#2a313b}.axis{stroke:#6b7683}.bound{stroke:#ff6a6f}.hollow{fill:#161b22}}
`;

/** `facts` says where and when the results were measured. */
export function drawPlot(results: Results, facts: string): string {
  const { latency, strict, overshoot } = results;
  const panels = [
    panel(0, 0, 'Latency per region', (frame) => latencyPanel(frame, latency)),
    panel(1, 0, `Local limit of ${LOCAL_LIMIT}: overshoot over all regions`, (frame) =>
      overshootPanel(frame, overshoot, latency.length),
    ),
    panel(0, 1, 'Strict limit: never above it', (frame) => strictPanel(frame, strict)),
    panel(1, 1, 'Seen in another region (colour: where it began)', (frame) => pathsPanel(frame, results)),
  ];
  const content = [
    element('title', {}, 'Keystile in three regions'),
    element('style', {}, STYLE),
    element('rect', { width: WIDTH, height: HEIGHT, rx: 8, class: 'ground' }),
    text(24, 36, 'Keystile: three regions on one PostgreSQL', { class: 'title' }),
    text(24, 58, facts, { class: 'soft' }),
    ...legend(latency),
    ...panels,
  ];
  const root = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' };
  return `${element('svg', { ...root, width: WIDTH, height: HEIGHT }, content.join('\n'))}\n`;
}

function legend(regions: Results['latency']): string[] {
  return regions.flatMap(({ region, delayMs }, i) => {
    const left = 30 + i * 310;
    return [
      element('circle', { cx: left, cy: 78, r: 6, class: `filled r${i}` }),
      text(left + 14, 82, `${region}: round trip to the database +${delayMs} ms`),
    ];
  });
}

function panel(column: number, row: number, title: string, draw: (frame: Frame) => string): string {
  const [left, top] = [16 + column * (PANEL.width + 8), TOP + row * (PANEL.height + 4)];
  const frame = { left: left + 72, top: top + 40, width: PANEL.width - 96, height: PANEL.height - 88 };
  return text(left + 8, top + 26, title, { class: 'head' }) + draw(frame);
}
