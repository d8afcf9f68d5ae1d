/** Chromium, driven by the DevTools protocol. Source: chromedevtools.github.io/devtools-protocol. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';
import type { Json } from '../support/inbox';
import { patienceMs } from '../support/patience';
import { newFolder } from '../support/temp-folder';

/** A browser that a test file has to itself. */
export class Browser {
  readonly #calls = new Map<number, { resolve: (result: Json) => void; reject: (reason: Error) => void }>();
  readonly #tabs = new Map<string, Tab>();
  #lastId = 0;

  private constructor(
    private readonly process: ChildProcess,
    private readonly socket: WebSocket,
  ) {
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Json));
  }

  /** Starts one; `CAI_TEST_CHROMIUM` names the program. */
  static async start(): Promise<Browser> {
    const child = spawn(
      process.env.CAI_TEST_CHROMIUM ?? 'chromium',
      [
        ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
        ...['--remote-debugging-port=0', `--user-data-dir=${newFolder()}`, '--lang=en'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    for await (const line of createInterface({ input: child.stderr })) {
      const [, url] = /^DevTools listening on (ws:.*)$/.exec(line) ?? [];
      if (url === undefined) continue;
      child.stderr.resume();
      const socket = new WebSocket(url);
      await once(socket, 'open');
      return new Browser(child, socket);
    }
    throw new Error('chromium does not start');
  }

  /** A tab with cookies of its own, `width` by `height`; a phone has a touch screen. */
  async tab(width: number, height: number, isDark = false): Promise<Tab> {
    const { browserContextId } = await this.call('Target.createBrowserContext', {});
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId as string);
    this.#tabs.set(sessionId as string, tab);
    const mobile = width < 800;
    const metrics = { width, height, mobile, deviceScaleFactor: mobile ? 2 : 1 };
    const features = [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }];
    await tab.call('Emulation.setDeviceMetricsOverride', metrics);
    await tab.call('Emulation.setEmulatedMedia', { features });
    await tab.call('Emulation.setTouchEmulationEnabled', { enabled: mobile });
    for (const domain of ['Page', 'Runtime', 'Log']) await tab.call(`${domain}.enable`);
    return tab;
  }

  /** One call of the protocol. */
  async call(method: string, params: Json = {}, sessionId?: string): Promise<Json> {
    const id = ++this.#lastId;
    const answer = new Promise<Json>((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return await answer;
  }

  async close(): Promise<void> {
    const gone = once(this.process, 'close');
    await this.call('Browser.close');
    await gone;
  }

  #receive({ id, result, error, method, params, sessionId }: Json): void {
    const call = this.#calls.get(id as number);
    this.#calls.delete(id as number);
    if (error !== undefined) call?.reject(new Error((error as { message: string }).message));
    else if (id !== undefined) call?.resolve(result as Json);
    else this.#tabs.get(sessionId as string)?.told(method as string, params as Json);
  }
}

/** One tab. */
export class Tab {
  /** What the browser has complained of: exceptions, and what the page's policy does not allow. */
  readonly complaints: string[] = [];
  #loaded: () => void = () => undefined;

  constructor(
    private readonly browser: Browser,
    private readonly id: string,
  ) {}

  async call(method: string, params: Json = {}): Promise<Json> {
    return await this.browser.call(method, params, this.id);
  }

  /** Opens an address, and resolves when it is loaded; without one the same again. */
  async open(url?: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => (this.#loaded = resolve));
    await (url === undefined ? this.call('Page.reload') : this.call('Page.navigate', { url }));
    await loaded;
  }

  /** The value of an expression in the page. */
  async eval(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.call('Runtime.evaluate', options)) as Record<
      string,
      Json
    >;
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result!.value;
  }

  /** Resolves with the value of an expression once that is true: it is looked at in each frame. */
  async until(expression: string): Promise<unknown> {
    const value = await this.#evalAnywhere(
      `new Promise((resolve) => {
        const end = performance.now() + ${patienceMs / 4};
        const look = () => {
          const value = (() => { try { return ${expression}; } catch { return undefined; } })();
          if (value || performance.now() > end) resolve(value);
          else requestAnimationFrame(look);
        };
        look();
      })`,
    );
    if (value !== undefined && value !== null && value !== false) return value;
    const shown = await this.eval('document.body.innerText');
    throw new Error(`${expression} does not become true; shown: ${String(shown)}`);
  }

  /** Also where the page is just being replaced by another. */
  async #evalAnywhere(expression: string): Promise<unknown> {
    for (;;) {
      try {
        return await this.eval(expression);
      } catch (reason) {
        if (!/navigated|context/.test(String(reason))) throw reason;
      }
    }
  }

  /** Resolves when a visible element of that kind has that text. */
  async sees(text: string, selector = 'body'): Promise<void> {
    const [words, kind] = [JSON.stringify(text), JSON.stringify(selector)];
    await this.until(
      `[...document.querySelectorAll(${kind})].some((each) => each.checkVisibility() && each.textContent.includes(${words}))`,
    );
  }

  /**
   * Presses the first visible element of that kind that has that text, in its middle, as a person does: once it no
   * longer moves, and again if what came meanwhile has moved it away from under the pointer.
   */
  async press(text: string, selector = 'button, a, summary'): Promise<void> {
    const [words, kind] = [JSON.stringify(text), JSON.stringify(selector)];
    do {
      const place = (await this.until(
        `(() => {
          const found = [...document.querySelectorAll(${kind})].find((each) => each.checkVisibility() && !each.disabled && each.textContent.includes(${words}));
          if (!found) return undefined;
          found.scrollIntoView({ block: 'center' });
          const { x, y, width, height } = found.getBoundingClientRect();
          const last = globalThis.lastPlace;
          globalThis.lastPlace = { x: x + width / 2, y: y + height / 2 };
          if (last?.x !== lastPlace.x || last?.y !== lastPlace.y) return undefined;
          globalThis.isMissed = true;
          const look = ({ target }) => (globalThis.isMissed = !target.closest(${kind})?.textContent.includes(${words}));
          document.addEventListener('click', look, { capture: true, once: true });
          return lastPlace;
        })()`,
      )) as Json;
      for (const type of ['mousePressed', 'mouseReleased'])
        await this.call('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount: 1 });
      // A page that has come in the place of this one, which only a press can bring about, knows of no miss.
    } while ((await this.#evalAnywhere('globalThis.isMissed')) === true);
  }

  /** Types into the field of that kind, in the place of what is there. */
  async type(selector: string, text: string): Promise<void> {
    await this.until(`!document.querySelector(${JSON.stringify(selector)}).disabled`);
    await this.eval(`document.querySelector(${JSON.stringify(selector)}).select()`);
    await this.call('Input.insertText', { text });
  }

  /** Presses and releases a key. */
  async key(key: string, modifiers = 0, code = key): Promise<void> {
    const windowsVirtualKeyCode = { Enter: 13, Tab: 9 }[key] ?? 0;
    const text = key === 'Enter' ? '\r' : undefined;
    for (const type of ['keyDown', 'keyUp'])
      await this.call('Input.dispatchKeyEvent', { type, key, code, modifiers, windowsVirtualKeyCode, text });
  }

  /** A picture of what is seen, if `CAI_TEST_PICTURES` names a folder for such. */
  async picture(name: string): Promise<void> {
    const folder = process.env.CAI_TEST_PICTURES;
    if (folder === undefined) return;
    const { data } = await this.call('Page.captureScreenshot', {});
    writeFileSync(`${folder}/${name}.png`, Buffer.from(data as string, 'base64'));
  }

  /** An event of the protocol. */
  told(method: string, params: Json): void {
    if (method === 'Page.loadEventFired') this.#loaded();
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params));
    const { entry } = params as { entry?: { source: string; text: string; level: string } };
    if (entry?.source === 'security' || entry?.source === 'javascript') this.complaints.push(entry.text);
  }
}
