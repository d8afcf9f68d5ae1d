/** JSON as people read it. Each value stays as it was written: a number that is too long for JavaScript, too. */

const token = /"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^\s[\]{},:"]+/g;

/** With line ends and indents; a text that is no JSON as it is. */
export function indented(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  const parts: string[] = [];
  let depth = 0;
  let last = '';
  const line = (): void => void parts.push('\n', '  '.repeat(Math.min(Math.max(depth, 0), 40)));
  for (const [each] of text.matchAll(token)) {
    const opens = last === '{' || last === '[';
    if (each === '}' || each === ']') {
      depth--;
      if (!opens) line();
    } else if (opens) line();
    parts.push(each);
    if (each === '{' || each === '[') depth++;
    else if (each === ',') line();
    else if (each === ':') parts.push(' ');
    last = each;
  }
  return parts.join('');
}

/** Where values were redacted, as paths such as `params.env[0].value`; none in a text that is no JSON. */
export function redactedPlaces(text: string, mark: string): readonly string[] {
  const places: string[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (value.includes(mark)) places.push(path);
    } else if (Array.isArray(value)) value.forEach((each, index) => look(each, `${path}[${index}]`));
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) look(each, path === '' ? key : `${path}.${key}`);
  };
  try {
    look(JSON.parse(text), '');
  } catch {
    // Cut short, or nested too deeply.
  }
  return places;
}
