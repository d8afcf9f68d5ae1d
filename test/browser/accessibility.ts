/** What keeps people from a page who do not see it, or have no mouse. */
import type { Tab } from './browser';

const interactive = 'a[href], button, input, select, summary, textarea, [tabindex="0"]';

/** What has no name for a screen reader, and what the Tab key does not reach, as HTML. */
export async function barriers(tab: Tab): Promise<string[]> {
  return [...(await nameless(tab)), ...(await unreached(tab))];
}

/** As the browser's own tree has it. Source: DevTools protocol, Accessibility. */
async function nameless(tab: Tab): Promise<string[]> {
  const { nodes } = (await tab.call('Accessibility.getFullAXTree')) as { nodes: Node[] };
  const found = nodes.filter(
    ({ ignored, name, properties = [], role }) =>
      !ignored &&
      role?.value !== 'RootWebArea' &&
      (name?.value ?? '') === '' &&
      properties.some((each) => each.name === 'focusable' && each.value.value === true),
  );
  const texts = await Promise.all(
    found.map(async ({ backendDOMNodeId: backendNodeId }) => {
      const { outerHTML } = await tab.call('DOM.getOuterHTML', { backendNodeId });
      return outerHTML as string;
    }),
  );
  // A script alone moves the focus there.
  return texts.filter((each) => !/^<[^>]*tabindex="-1"/.test(each)).map((each) => `without a name: ${each}`);
}

async function unreached(tab: Tab): Promise<string[]> {
  const count = (await tab.eval(`(() => {
    globalThis.wanted = new Set([...document.querySelectorAll(${JSON.stringify(interactive)})]
      .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled));
    document.addEventListener('focusin', ({ target }) => wanted.delete(target));
    document.activeElement.blur();
    return wanted.size;
  })()`)) as number;
  // Boxes that scroll are reached, too.
  for (let pressed = 0; pressed < 2 * count + 4; pressed++) await tab.key('Tab');
  return (await tab.eval(`[...wanted].map((each) => 'not reached: ' + each.outerHTML)`)) as string[];
}

interface Node {
  readonly ignored: boolean;
  readonly backendDOMNodeId: number;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value: unknown } }[];
}
