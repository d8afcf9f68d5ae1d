/** Drawings: elements of SVG, which the style sheet colours. */

const space = 'http://www.w3.org/2000/svg';

/** Width of all drawings in their own units; they are stretched to the width that they have. */
export const width = 1_000;

export function shape(
  tag: 'svg' | 'path' | 'rect' | 'line',
  attributes: Readonly<Record<string, string | number>>,
): SVGElement {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** A drawing of that height, which a text beside it says in words. */
export function drawing(height: number, ...shapes: readonly SVGElement[]): SVGElement {
  const svg = shape('svg', {
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
    height,
  });
  svg.append(...shapes);
  return svg;
}
