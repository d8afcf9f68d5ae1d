/** Keeps the end of what grows in view, for as long as the reader is there. */

/** How far from the end counts as there, in pixels. */
const nearPx = 60;

/** Gives the element a box that it scrolls in; returns that. */
export function follow(content: HTMLElement): HTMLElement {
  const box = document.createElement('div');
  box.className = 'scroll';
  box.append(content);
  let isAtEnd = true;
  let lastTop = 0;
  box.addEventListener(
    'scroll',
    () => {
      const { scrollHeight, scrollTop, clientHeight } = box;
      // More may have come since the end was in view: who has not gone back is still there.
      isAtEnd = scrollHeight - scrollTop - clientHeight < nearPx || (isAtEnd && scrollTop >= lastTop);
      lastTop = scrollTop;
    },
    { passive: true },
  );
  // Told after layout, once in a frame, whatever has changed.
  const observer = new ResizeObserver(() => {
    if (isAtEnd) box.scrollTop = box.scrollHeight;
  });
  observer.observe(content);
  observer.observe(box);
  return box;
}
