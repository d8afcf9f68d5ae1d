import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { cai } from '../support/cli';
import { RecordedLines, recordingFile } from '../support/recordings';
import { barriers } from './accessibility';
import { Browser, type Tab } from './browser';

let browser: Browser;
const servers: ChildProcess[] = [];

beforeAll(async () => {
  browser = await Browser.start();
});

afterAll(async () => {
  for (const server of servers) {
    const gone = once(server, 'close');
    server.kill();
    await gone;
  }
  await browser.close();
});

/** The link of a `cai inspect` that runs until the tests are over. */
async function linkTo(...args: readonly string[]): Promise<string> {
  const server = spawn(process.execPath, [cai, 'inspect', ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  servers.push(server);
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  return line;
}

async function shows(args: readonly string[], width = 1280, height = 800, isDark = false): Promise<Tab> {
  const tab = await browser.tab(width, height, isDark);
  await tab.open(await linkTo(...args));
  await tab.until(`/^[\\d,]+ message/.test(document.querySelector('#state').textContent)`);
  await tab.until(`document.querySelector('#progress').textContent === ''`);
  return tab;
}

/** What two agents did in a bakery and a garden. */
function twoWorkspaces(): RecordedLines {
  const lines = new RecordedLines();
  lines.session(1, '4f1c-bread', '/home/me/bakery', 6, 40);
  lines.session(2, '9a77-roses', '/home/me/garden', 4, 25);
  return lines;
}

const state = `document.querySelector('#state').textContent`;
const chosen = `document.querySelector('[aria-selected=true]')`;
const rowCount = `document.querySelectorAll('[data-place]').length`;

test('a recording is shown with its sessions, times, tokens and cost, in light and dark', async () => {
  const file = recordingFile(twoWorkspaces().lines);
  const light = await shows([file]);

  await light.sees('4f1c-bread', '.lanes .title');
  await light.sees('6 turns', '.lanes small');
  await light.sees('/home/me/garden', '.plots th');
  await light.sees('0.1200 USD', '.plots td');
  expect(await light.eval(`document.querySelectorAll('.plots figure').length`)).toBe(2);
  await light.eval(`(() => {
    const select = document.querySelector('#overview select');
    select.value = 'agent';
    select.dispatchEvent(new Event('change'));
  })()`);
  await light.sees('claude 2', '.plots th');
  await light.press('session/prompt', '.row');
  await light.sees('Tool calls: 1', '#details h3');
  await light.sees('Run ./heat-the-oven', '#details button');
  await light.sees('completed', '#details small');
  await light.sees('answered after 1.5 s', '#details small');
  await light.picture('inspect');
  await light.press('Its answer');
  await light.sees('answer to session/prompt', '#details h2');
  await light.sees('inputTokens', '#details pre');

  const dark = await shows([file], 1280, 800, true);
  await dark.picture('inspect-dark');
  const colors = async (tab: Tab) =>
    await tab.eval(`[document.querySelector('#messages'), document.querySelector('.count')].map((each) => {
      const { backgroundColor, fill } = getComputedStyle(each);
      return each.id === '' ? fill : backgroundColor;
    })`);
  expect(await colors(light)).toEqual(['rgb(255, 255, 255)', 'rgb(31, 95, 191)']);
  expect(await colors(dark)).toEqual(['rgb(30, 33, 36)', 'rgb(134, 180, 255)']);

  const phone = await shows([file], 360, 740);
  await phone.picture('inspect-360');
  expect(await phone.eval('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  expect([...light.complaints, ...dark.complaints, ...phone.complaints]).toEqual([]);
});

test('all that can be operated has a name, and is reached by the Tab key', async () => {
  const tab = await shows([recordingFile(twoWorkspaces().lines)]);
  await tab.press('session/prompt', '.row');
  await tab.sees('Run ./heat-the-oven', '#details button');

  expect(await barriers(tab)).toEqual([]);
});

test('what is shown can be chosen: the connection, a session, what was redacted, errors', async () => {
  const lines = twoWorkspaces();
  lines.call(1, 'session/close', { sessionId: '4f1c-bread' }, {}, 3);
  lines.pass(true, 1, { id: 'late', method: 'session/list', params: {} });
  lines.raw({ event: 'agent ended', child: 1 });
  const tab = await shows([recordingFile([...lines.lines, 'damaged line'])]);
  const choose = async (id: string, value: string): Promise<void> => {
    await tab.eval(`(() => {
      const select = document.querySelector('#${id}');
      select.value = ${JSON.stringify(value)};
      select.dispatchEvent(new Event('change'));
    })()`);
  };

  expect(await tab.eval(state)).toContain('redacted: 4 values in 4 messages; damaged: line');
  await choose('kind', 'redacted');
  await tab.until(`${state}.startsWith('2 messages')`);
  await tab.press('session/new', '.row:not(.head)');
  await tab.sees('params.mcpServers[0].env[0].value', '#details code');
  await choose('kind', 'no answer');
  await tab.until(`${state}.startsWith('1 message')`);
  await choose('kind', 'errors');
  await tab.sees('damaged line', '.row.bad');
  await choose('kind', 'all messages');
  await choose('connection', '2');
  await tab.until(`document.querySelectorAll('.lanes li').length === 2`);
  await tab.press('9a77-roses', '.lanes button');
  await tab.until(`document.activeElement.getAttribute('aria-pressed') === 'true'`);
  expect(
    await tab.eval(
      `new Set([...document.querySelectorAll('.row .session')].map((each) => each.textContent)).size`,
    ),
  ).toBe(1);
  expect(tab.complaints).toEqual([]);
});

describe('a recording of 100,000 messages', () => {
  const lines = new RecordedLines();
  lines.session(1, 'bread', '/srv/bakery', 2, 25_000);
  while (lines.lines.length < 99_998)
    lines.update(1, 'bread', {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: 'more' },
    });
  lines.update(1, 'bread', {
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text: 'the LAST word' },
  });
  const file = recordingFile(lines.lines);
  let tab: Tab;

  beforeAll(async () => {
    tab = await shows([file]);
    await tab.eval(`(() => {
      const all = document.querySelector('#connection');
      all.value = 'all';
      all.dispatchEvent(new Event('change'));
    })()`);
    await tab.until(`${state}.startsWith('100,0')`);
  });

  test('scrolls smoothly, with no more rows in the document than are seen', async () => {
    const { longest, frames, most } = (await tab.eval(`(async () => {
      const box = document.querySelector('.rows');
      let [longest, most, frames, last] = [0, 0, 0, performance.now()];
      const end = box.scrollHeight - box.clientHeight;
      for (let step = 0; step <= 120; step++) {
        box.scrollTop = (end * step) / 120;
        const now = await new Promise(requestAnimationFrame);
        if (step > 0) longest = Math.max(longest, now - last);
        last = now;
        frames++;
        most = Math.max(most, ${rowCount});
      }
      return { longest, frames, most };
    })()`)) as Record<string, number>;

    expect(frames).toBe(121);
    expect(most).toBeLessThan(80);
    // A frame that takes longer is felt; the machine of a test may do other things besides.
    expect(longest).toBeLessThan(1_000);
    await tab.sees('the LAST word', '.row');
    expect(await tab.eval(`document.querySelectorAll('*').length`)).toBeLessThan(2_000);
    expect(
      Number(await tab.eval(`document.querySelector('.list').getAttribute('aria-rowcount')`)),
    ).toBeGreaterThan(99_999);
  });

  test('is walked through with the keyboard alone', async () => {
    await tab.eval(`document.querySelector('.list').focus()`);
    await tab.key('Home');
    await tab.until(`${chosen}?.getAttribute('aria-rowindex') === '2'`);
    await tab.key('ArrowDown');
    await tab.key('ArrowDown');
    await tab.until(`${chosen}.getAttribute('aria-rowindex') === '4'`);
    expect(
      await tab.eval(
        `document.getElementById(document.activeElement.getAttribute('aria-activedescendant')) === ${chosen}`,
      ),
    ).toBe(true);
    await tab.key('End');
    await tab.until(`${chosen}?.textContent.includes('the LAST word')`);
    await tab.sees('the LAST word', '#details pre');
    await tab.key('PageUp');
    await tab.until(`${chosen} !== null && !${chosen}.textContent.includes('the LAST word')`);
    const seen = (await tab.eval(`(() => {
      const [row, box] = [${chosen}, document.querySelector('.rows')].map((each) => each.getBoundingClientRect());
      return row.top >= box.top && row.bottom <= box.bottom;
    })()`)) as boolean;
    expect(seen).toBe(true);
    await tab.key('Enter');
    await tab.until(`document.activeElement.id === 'details'`);
    await tab.key('Escape');
    await tab.until(`document.activeElement.className === 'list'`);
  });

  test('is searched to its end', async () => {
    await tab.eval(`document.querySelector('.list').focus()`);
    await tab.key('/');
    await tab.until(`document.activeElement.id === 'text'`);
    await tab.type('#text', 'the last WORD');
    await tab.key('Enter');
    await tab.until(`${state}.startsWith('2 messages found ')`);
    expect(await tab.eval(rowCount)).toBe(2);
    await tab.type('#text', '');
    await tab.eval(`document.querySelector('#text').form.requestSubmit()`);
    await tab.until(`${state}.startsWith('100,0')`);
    expect(tab.complaints).toEqual([]);
  });
});

test('what a hostile agent says stays text', async () => {
  const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> \u202Egnp.exe\u202C`;
  const lines = new RecordedLines();
  lines.session(1, attack, `/srv/${attack}`, 1, 1);
  lines.update(1, attack, { sessionUpdate: attack, toolCallId: attack, title: attack, status: attack });
  lines.update(1, attack, {
    ...{ sessionUpdate: 'usage_update', used: 1, size: 2 },
    cost: { amount: 5, currency: attack },
  });
  lines.pass(
    false,
    1,
    { id: attack, method: attack, params: { sessionId: attack, [attack]: '<redacted>' } },
    { redacted: true },
  );
  lines.pass(false, 1, { id: 'e', error: { code: 1, message: attack } });
  const tab = await shows([recordingFile([...lines.lines, attack])], 1280, 800);
  await tab.sees('onerror', '.lanes .title');
  await tab.sees('onerror', '.plots figcaption');
  const rows = (await tab.eval(rowCount)) as number;
  for (let place = 0; place < rows; place++) {
    await tab.eval(`document.querySelector('[data-place="${place}"]').click()`);
    await tab.until(
      `document.querySelector('#details dd:last-of-type')?.textContent === ${chosen}.id.slice(5)`,
    );
  }

  await tab.sees('<img src=x onerror=', '#details pre');
  expect(await tab.eval('window.hacked')).toBeUndefined();
  expect(await tab.eval(`document.body.innerText.includes('\\u202e')`)).toBe(false);
  expect(await tab.eval(`document.querySelectorAll('#inspect :is(script, img, iframe, a)').length`)).toBe(0);
  expect(await tab.eval('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  expect(tab.complaints).toEqual([]);
});

test('a recording that is being made is followed, also by a search', async () => {
  const lines = new RecordedLines();
  lines.session(1, 'bread', '/srv/bakery', 1, 100);
  const file = recordingFile(lines.lines);
  const tab = await shows(['--live', file]);
  await tab.eval(`document.querySelector('.rows').scrollTop = 1e6`);
  await tab.until(`${rowCount} > 10`);
  const add = (text: string): void => {
    const added = new RecordedLines();
    added.ms = 90_000;
    added.update(1, 'bread', { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
    appendFileSync(file, `${added.lines.join('\n')}\n`);
  };

  add('fresh rolls');
  await tab.sees('fresh rolls', '.row');
  await tab.type('#text', 'rolls');
  await tab.key('Enter');
  await tab.until(`${state}.startsWith('1 message found ')`);
  add('more ROLLS');
  await tab.until(`${state}.startsWith('2 messages found ')`);
  expect(tab.complaints).toEqual([]);
});

test('whoever comes without the link, or with a used one, sees why nothing is shown', async () => {
  const link = await linkTo(recordingFile([]));
  const first = await browser.tab(1280, 800);
  await first.open(link);
  await first.until(`${state}.startsWith('0 messages')`);
  await first.open();
  await first.until(`${state}.startsWith('0 messages')`);
  expect(await first.eval('location.hash')).toBe('');

  const second = await browser.tab(1280, 800);
  await second.open(link);
  await second.sees('That link has been used', '#problem');
  await second.open(new URL(link).origin);
  await second.sees('You are not signed in', '#problem');
  expect(await second.eval(rowCount)).toBe(0);
});
