/* The throughput of all contenders as a drawing: ratios to the byte pipe, with their intervals. */
import { titleOf } from './report.mjs';

const colours = {
  direct: '#57606a',
  again: '#a0a6ad',
  json: '#bc4c00',
  sdk: '#0969da',
  conductor: '#8250df',
  cai: '#1a7f37',
};
const panels = {
  'to editor, each': 'each update written by itself',
  'to editor, batches': 'written in 64 kB batches',
};
const sizes = ['60 B', '300 B', '4 kB', '20 kB', '1 MB'];
const panel = { width: 360, height: 300, gap: 50, left: 60, top: 60 };
/** Of the axis, which is logarithmic. */
const [least, most] = [0.01, 10];
const marks = [0.01, 0.1, 1, 10];

const yOf = (ratio) => {
  const share = Math.log(Math.min(most, Math.max(least, ratio)) / least) / Math.log(most / least);
  return Math.round((panel.top + panel.height * (1 - share)) * 10) / 10;
};
const leftOf = (index) => panel.left + index * (panel.width + panel.gap);
const xOf = (index, place) => Math.round(leftOf(index) + ((place + 0.5) * panel.width) / sizes.length);

/** SVG; `rows` are those of the throughput. */
export function plotOf(rows) {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const width = leftOf(1) + panel.width + 20;
  const drawn = Object.keys(panels).map((kind, index) => panelOf(kind, index, byName));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 440" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="440" fill="#fff"/>`,
    '<text x="20" y="24" font-size="15">Updates a second from an agent to the editor, as a multiple of a byte pipe</text>',
    ...drawn,
    legend(),
    '</svg>',
    '',
  ].join('\n');
}

function panelOf(kind, index, byName) {
  const axis = marks.map((mark) => {
    const y = yOf(mark);
    const line = `<path d="M${leftOf(index)} ${y}h${panel.width}" stroke="${mark === 1 ? '#57606a' : '#d8dee4'}"/>`;
    return `${line}<text x="${leftOf(index) - 6}" y="${y + 4}" text-anchor="end">${mark}</text>`;
  });
  const bottom = panel.top + panel.height;
  const names = sizes.map(
    (size, place) => `<text x="${xOf(index, place)}" y="${bottom + 16}" text-anchor="middle">${size}</text>`,
  );
  const title = `<text x="${leftOf(index)}" y="${panel.top - 12}">${panels[kind]}</text>`;
  const lines = Object.keys(colours).map((name) => lineOf(kind, index, name, byName));
  return [title, ...axis, ...names, ...lines].join('\n');
}

/** A contender's ratios over the sizes, the interval as an upright stroke. */
function lineOf(kind, index, name, byName) {
  const points = sizes.flatMap((size, place) => {
    const ratio = byName.get(`${kind}, ${size}`)?.cells[name];
    return ratio === undefined ? [] : [{ x: xOf(index, place), ...ratio }];
  });
  const strokes = points.flatMap(({ x, low, high }) => {
    return low > 0 && high < Infinity ? [`M${x} ${yOf(low)}V${yOf(high)}`] : [];
  });
  const path = points.map(({ x, median }, place) => `${place === 0 ? 'M' : 'L'}${x} ${yOf(median)}`).join('');
  const dots = points.map(
    ({ x, median }) => `<circle cx="${x}" cy="${yOf(median)}" r="3" fill="${colours[name]}"/>`,
  );
  const width = name === 'cai' ? 3 : 1.5;
  return `<path d="${path}${strokes.join('')}" fill="none" stroke="${colours[name]}" stroke-width="${width}"/>${dots.join('')}`;
}

function legend() {
  return Object.entries(colours)
    .map(([name, colour], place) => {
      const x = panel.left + place * 125;
      return `<rect x="${x}" y="408" width="12" height="12" fill="${colour}"/><text x="${x + 18}" y="418">${titleOf(name)}</text>`;
    })
    .join('\n');
}
