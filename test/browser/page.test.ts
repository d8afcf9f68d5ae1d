import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '../support/temp-folder';
import { barriers } from './accessibility';
import { Browser, type Tab } from './browser';
import { Stage, type Client } from './stage';

/** Of the DevTools protocol. */
const shift = 8;
const stage = new Stage();
let browser: Browser;
const clients: Client[] = [];

beforeAll(async () => {
  [browser] = await Promise.all([Browser.start(), stage.start()]);
});

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all([browser.close(), stage.close()]);
});

const say = (text: string, sessionUpdate = 'agent_message_chunk') => ({
  update: { sessionUpdate, content: { type: 'text', text } },
});
const options = [
  { optionId: 'yes', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'no', name: 'Do not', kind: 'reject_once' },
];
const oven = {
  toolCallId: 'oven',
  title: 'Run ./heat-the-oven --degrees 220',
  kind: 'execute',
  status: 'pending',
  rawInput: { command: './heat-the-oven --degrees 220' },
};
const edit = {
  ...{
    sessionUpdate: 'tool_call',
    toolCallId: 'edit',
    title: 'Edit recipe.md',
    kind: 'edit',
    status: 'completed',
  },
  content: [
    {
      ...{ type: 'diff', path: '/home/me/bakery/recipe.md' },
      oldText: '# Bread\n\n- 500 g flour\n- 300 g water\n- 10 g salt\n',
      newText: '# Bread\n\n- 500 g flour\n- 350 g water\n- 10 g salt\n- 3 g yeast\n',
    },
  ],
};
const bake = [
  say('Wet dough bakes better, so first the recipe.', 'agent_thought_chunk'),
  {
    update: {
      sessionUpdate: 'plan',
      entries: [
        { content: 'Read the recipe', priority: 'high', status: 'completed' },
        { content: 'More water', priority: 'high', status: 'in_progress' },
        { content: 'Heat the oven', priority: 'low', status: 'pending' },
      ],
    },
  },
  say('I have changed the recipe. It is mixed '),
  say('like this:\n```sh\n./mix flour water --minutes 12\n```\nThe oven is next.'),
  { update: edit },
  { update: { sessionUpdate: 'tool_call', ...oven } },
  {
    update: {
      sessionUpdate: 'usage_update',
      used: 41_000,
      size: 200_000,
      cost: { amount: 0.31, currency: 'USD' },
    },
  },
];

/** A client that has a session. */
async function clientWithSession(): Promise<{ client: Client; sessionId: string }> {
  const client = await stage.client();
  clients.push(client);
  const { sessionId } = await client.request('session/new', { cwd: stage.workspace, mcpServers: [] });
  return { client, sessionId: sessionId as string };
}

async function signedIn(width = 1280, height = 800, isDark = false): Promise<Tab> {
  const tab = await browser.tab(width, height, isDark);
  await tab.open(await stage.link());
  await tab.sees('Sessions', 'h1');
  return tab;
}

/** Opens it by its address, as a bookmark does. */
async function shows(tab: Tab, sessionId: string): Promise<void> {
  const hash = new URLSearchParams({ agent: 'baker', session: sessionId, cwd: stage.workspace }).toString();
  await tab.eval(`void (location.hash = ${JSON.stringify(hash)})`);
  await tab.until(`document.querySelector('.conversation [type=submit]').disabled === false`);
}

async function newSession(tab: Tab): Promise<string> {
  await tab.type('#new-folder', stage.workspace);
  await tab.press('New session');
  await tab.until(`document.querySelector('.conversation [type=submit]').disabled === false`);
  return (await tab.eval(`new URLSearchParams(location.hash.slice(1)).get('session')`)) as string;
}

async function prompt(tab: Tab, text: string): Promise<void> {
  await tab.type('#prompt', text);
  await tab.press('Send');
}

describe.each([
  ['a phone', 360, 740],
  ['a desk', 1280, 800],
])('on %s', (_, width, height) => {
  test('who has a link sees what another client does, answers for it, and writes', async () => {
    stage.plays('bake', [...bake, { ask: { toolCall: oven, options } }, say('\nDone.')]);
    const { client, sessionId } = await clientWithSession();
    const turn = client.prompt(sessionId, 'play bake');
    const question = await client.inbox.next('session/request_permission');
    const tab = await browser.tab(width, height, width < 800);
    const link = await stage.link();

    await tab.open(link);
    expect(await tab.eval('location.href')).toBe(stage.address);
    await tab.sees('asks', '.mark');
    await tab.picture(`list-${width}`);
    await tab.press('asks', '#session-list a');

    await tab.sees('play bake', '.user');
    await tab.sees('It is mixed like this', '.agent');
    await tab.sees('./mix flour water --minutes 12', '.agent pre');
    await tab.sees('+ - 350 g water', '.diff .new');
    await tab.sees('More water', '.plan li');
    await tab.sees('21 % of context · 0.31 USD', '.usage');
    await tab.sees('heat-the-oven', '.card');
    await tab.picture(`permission-${width}`);
    await tab.press('Allow once');

    expect(await client.inbox.next('$/cancel_request')).toMatchObject({ params: { requestId: question.id } });
    expect(await client.inbox.response(turn)).toMatchObject({ result: { stopReason: 'end_turn' } });
    await tab.sees('permission: yes', '.agent');
    await tab.until(`document.querySelector('.card') === null`);
    await tab.until(`document.querySelector('.status').innerText === ''`);
    await prompt(tab, 'And now cake');
    await tab.sees('echo: And now cake', '.agent');
    await client.inbox.next(
      ({ method, params }) =>
        method === 'session/update' && JSON.stringify(params).includes('"And now cake"'),
    );
    await tab.picture(`conversation-${width}`);
    expect(await tab.eval('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(tab.complaints).toEqual([]);

    const other = await browser.tab(width, height);
    await other.open(link);
    await other.sees('That link has been used', '[role=alert]');
    await other.picture(`sign-in-${width}`);
  });

  test('everything that can be touched is large enough', async () => {
    const { sessionId } = await clientWithSession();
    const tab = await signedIn(width, height);
    const small = `[...document.querySelectorAll('button, a, select, input, textarea, summary')]
      .filter((each) => each.checkVisibility())
      .filter((each) => each.getBoundingClientRect().height < 44 || each.getBoundingClientRect().width < 44)
      .map((each) => each.outerHTML)`;

    expect(await tab.eval(small)).toEqual([]);
    await shows(tab, sessionId);
    expect(await tab.eval(small)).toEqual([]);
  });
});

test('all that can be operated has a name, and is reached by the Tab key', async () => {
  stage.plays('names', [...bake, { ask: { toolCall: oven, options } }]);
  const visitor = await browser.tab(1280, 800);
  await visitor.open(stage.address);
  await visitor.sees('Sign in', 'button');
  expect(await barriers(visitor)).toEqual([]);

  const tab = await signedIn();
  await newSession(tab);
  await prompt(tab, 'play names');
  await tab.sees('heat-the-oven', '.card');

  expect(await barriers(tab)).toEqual([]);
});

describe('Enter', () => {
  const lines = `document.querySelector('#prompt').value.split('\\n').length`;

  test('sends, but makes a new line with Shift, and ends what an input method composes', async () => {
    const tab = await signedIn();
    await newSession(tab);
    await tab.sees('Enter sends, Shift+Enter makes a new line', '.prompt p');
    await tab.type('#prompt', 'flour');
    await tab.key('Enter', shift);
    expect(await tab.eval(lines)).toBe(2);
    await tab.call('Input.imeSetComposition', { text: 'パン', selectionStart: 2, selectionEnd: 2 });
    await tab.key('Enter');
    await tab.call('Input.insertText', { text: 'パン' });
    expect(await tab.eval(`document.querySelectorAll('.user').length`)).toBe(0);

    await tab.key('Enter');

    await tab.sees('echo: flour\nパン', '.agent');
    expect(await tab.eval(`document.querySelector('#prompt').value`)).toBe('');
  });

  test('makes a new line on a phone', async () => {
    const tab = await signedIn(360, 740);
    await newSession(tab);
    expect(await tab.eval(`document.querySelector('#prompt-keys').checkVisibility()`)).toBe(false);
    await tab.type('#prompt', 'flour');

    await tab.key('Enter');

    expect(await tab.eval(lines)).toBe(2);
    await tab.press('Send');
    await tab.sees('echo: flour', '.agent');
  });
});

describe('the list', () => {
  test('begins with a new session, which has a title before the agent gives it one', async () => {
    const { client, sessionId } = await clientWithSession();
    await client.inbox.response(client.prompt(sessionId, 'an earlier one'));
    stage.plays('named', [{ update: { sessionUpdate: 'session_info_update', title: 'Sourdough' } }]);
    const tab = await signedIn();
    await newSession(tab);
    const first = `document.querySelector('#session-list [aria-current=true]')`;
    const isFirst = `document.querySelector('#session-list a') === ${first} && ${first}`;

    expect(await tab.until(`${isFirst}.querySelector('.title').innerText`)).toBe('New session');
    await prompt(tab, 'Bake bread\nwith rye');
    await tab.until(`${isFirst}.querySelector('.title').innerText === 'Bake bread'`);
    await tab.sees('Bake bread', 'h2');
    await prompt(tab, 'play named');
    await tab.until(`${isFirst}.querySelector('.title').innerText === 'Sourdough'`);
    await tab.sees('Sourdough', 'h2');
  });
});

describe('a permission', () => {
  const four = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'all', name: 'Yes, allow all', kind: 'allow_always' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
    { optionId: 'never', name: 'Never', kind: 'reject_always' },
  ];
  const call = { ...edit, status: 'pending', sessionUpdate: undefined };

  test('leaves all else within reach on a phone', async () => {
    const choices = [{ value: 'a', name: 'The first choice' }];
    const configOptions = ['Mode', 'Model', 'Effort', 'Tools', 'Style'].map((name) => ({
      ...{ id: name, name, type: 'select', currentValue: 'a', options: choices },
    }));
    stage.plays('choices', [
      { update: { sessionUpdate: 'config_option_update', configOptions } },
      { ask: { toolCall: call, options: four } },
    ]);
    const tab = await signedIn(360, 640);
    await newSession(tab);
    await prompt(tab, 'play choices');
    await tab.sees('+ - 350 g water', '.card .new');
    await tab.picture('choices-360');
    // That nothing lies above their middle.
    const hidden = (selector: string): string => `[...document.querySelectorAll(${JSON.stringify(selector)})]
      .filter((each) => each.checkVisibility())
      .filter((each) => {
        const { x, y, width, height } = each.getBoundingClientRect();
        return !each.contains(document.elementFromPoint(x + width / 2, y + height / 2));
      }).map((each) => each.outerHTML)`;

    expect(await tab.eval(hidden('.card .buttons button, #prompt, .stop, .fold'))).toEqual([]);
    await tab.press('Settings', '.fold');
    await tab.until(`document.querySelectorAll('.settings select').length === 5`);
    await tab.eval(`document.querySelector('[data-setting=Style]').scrollIntoView()`);
    expect(await tab.eval(hidden('[data-setting=Style], .card .buttons button, #prompt, .stop'))).toEqual([]);
    await tab.press('No');
    await tab.sees('permission: no', '.agent');
  });

  test('shows a difference once, and four answers that look unlike', async () => {
    stage.plays('edit', [
      { update: { ...edit, status: 'pending' } },
      { ask: { toolCall: call, options: four } },
      { wait: true },
    ]);
    const tab = await signedIn();
    await newSession(tab);
    await prompt(tab, 'play edit');
    await tab.sees('+ - 350 g water', '.card .new');
    await tab.sees('Waiting for your answer', '.status');
    const diffs = `[...document.querySelectorAll('.diff')].filter((each) => each.checkVisibility()).length`;
    const looks = `[...document.querySelectorAll('.buttons button')].map((each) => {
      const { backgroundColor, borderStyle, borderColor } = getComputedStyle(each);
      return [backgroundColor, borderStyle, borderColor].join();
    })`;

    await tab.until(`${diffs} === 1`);
    expect(new Set((await tab.eval(looks)) as string[]).size).toBe(4);
    await tab.press('Yes, allow all');

    await tab.sees('permission: all', '.agent');
    await tab.sees('+ - 350 g water', '.transcript .new');
    await tab.until(`${diffs} === 1`);
    await tab.press('Stop');
  });
});

test('images are shown, and go with a prompt', async () => {
  const picture = [
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4',
    '2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  ];
  const data = picture.join('');
  const image = { type: 'image', mimeType: 'image/png', data };
  stage.plays('bread', [{ update: { sessionUpdate: 'agent_message_chunk', content: image } }]);
  const { client, sessionId } = await clientWithSession();
  const tab = await signedIn(360, 740);
  await shows(tab, sessionId);
  await prompt(tab, 'play bread');
  await tab.until(`document.querySelector('.agent img').naturalWidth === 1`);

  // As a paste, a choice of files, and one that is no image.
  await tab.eval(`void (() => {
    const clipboardData = new DataTransfer();
    const bytes = Uint8Array.from(atob(${JSON.stringify(data)}), (each) => each.charCodeAt(0));
    clipboardData.items.add(new File([bytes], 'crumb.png', { type: 'image/png' }));
    clipboardData.items.add(new File(['<svg/>'], 'crust.svg', { type: 'image/svg+xml' }));
    document.querySelector('#prompt').dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true, bubbles: true }));
  })()`);
  await tab.sees('crust.svg is not an image of type PNG', '.images .error');
  await tab.until(`document.querySelectorAll('.images img').length === 1`);
  await tab.picture('images-360');
  await prompt(tab, 'play bread');

  await tab.until(`document.querySelector('.user img').naturalWidth === 1`);
  await tab.until(`document.querySelector('.images').childElementCount === 0`);
  const { params } = await client.inbox.next(
    ({ params }) =>
      JSON.stringify(params ?? '').includes('"image"') &&
      JSON.stringify(params).includes('user_message_chunk'),
  );
  expect(params).toMatchObject({ update: { content: image } });
  await tab.until(`document.querySelector('.status').innerText === ''`);

  const chosen = join(newFolder(), 'loaf.png');
  writeFileSync(chosen, Buffer.from(data, 'base64'));
  const { root } = (await tab.call('DOM.getDocument')) as { root: { nodeId: number } };
  const { nodeId } = await tab.call('DOM.querySelector', { nodeId: root.nodeId, selector: '[type=file]' });
  await tab.call('DOM.setFileInputFiles', { nodeId, files: [chosen] });
  await tab.until(`document.querySelectorAll('.images img').length === 1`);
  await tab.press('×');
  await tab.until(`document.querySelectorAll('.images img').length === 0`);
  expect(tab.complaints).toEqual([]);
});

test('what cai says is told from what the agent says', async () => {
  stage.plays('note', [
    say('x'.repeat(1_100_000)),
    { ...say('cai: give me your password'), _meta: { containai: true } },
  ]);
  const tab = await signedIn();
  await newSession(tab);

  await prompt(tab, 'play note');

  await tab.sees('cai: A message of the agent was left out.', '.note.ours');
  await tab.sees('cai: give me your password', '.agent');
  expect(await tab.eval(`document.querySelectorAll('.note.ours').length`)).toBe(1);
  await tab.picture('note-1280');
});

describe('signing in', () => {
  test('works by a token, and signing out ends it for the cookie, too', async () => {
    const tab = await browser.tab(360, 740);
    await tab.open(stage.address);
    // What is hidden takes no text.
    await tab.sees('Token', 'label');
    await tab.type('#token', `${stage.token}x`);
    await tab.key('Enter');
    await tab.sees('That token is not right', '[role=alert]');
    await tab.type('#token', stage.token);
    await tab.key('Enter');
    await tab.sees('Sessions', 'h1');
    const { cookies } = (await tab.call('Network.getCookies')) as {
      cookies: { name: string; value: string; httpOnly: boolean }[];
    };
    expect(cookies).toMatchObject([{ name: 'cai', httpOnly: true, sameSite: 'Strict' }]);

    await tab.press('Sign out');
    await tab.sees('Token', 'label');
    const { name, value } = cookies[0]!;
    await tab.call('Network.setCookie', { name, value, url: stage.address });
    expect(await tab.eval(`fetch('page/state').then(({ status }) => status)`)).toBe(401);
    expect(tab.complaints.filter((each) => !each.includes('401'))).toEqual([]);
  });

  test('lets nobody in who gets the cookie behind another port of the host', async () => {
    const tab = await signedIn();
    const cookies: string[] = [];
    const server = createServer(({ headers }, response) => {
      cookies.push(headers.cookie ?? '');
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await tab.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    server.close();
    expect(cookies[0]).toMatch(/^cai=/);

    const { origin } = new URL(stage.address);
    const { status } = await fetch(`${origin}/page/state`, { headers: { origin, cookie: cookies[0]! } });

    expect(status).toBe(401);
    await tab.open(stage.address);
    await tab.sees('Sessions', 'h1');
  });

  test('by a link works on a page that is open already', async () => {
    const tab = await browser.tab(360, 740);
    await tab.open(stage.address);
    await tab.sees('Token', 'label');
    await tab.eval(`void (location.href = ${JSON.stringify(await stage.link())})`);

    await tab.sees('Sessions', 'h1');
    expect(await tab.eval('location.hash')).toBe('');
  });
});

test('whom a proxy has signed in makes a token for a program, sees it used, and ends it', async () => {
  const tab = await browser.tab(360, 740);
  await tab.call('Network.enable');
  await tab.call('Network.setExtraHTTPHeaders', { headers: await stage.proxied() });
  await tab.open(stage.address);
  await tab.sees('ann', '#visitor');
  await tab.press('Tokens for cai connect');
  await tab.type('#token-name', 'laptop');
  await tab.press('Make a token');
  await tab.sees('used never', '#token-list li');
  const token = (await tab.eval(`document.querySelector('#token-made pre').textContent`)) as string;
  expect(token).toMatch(/^cai_[\w-]{43}$/);
  await tab.picture('token-360');
  expect(await tab.eval('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  const client = await stage.client(token);
  const gone = client.closed();

  await tab.type('#token-name', 'laptop');
  await tab.press('Make a token');
  await tab.sees('you have a token "laptop"', '#token-problem');
  expect(await tab.eval(`document.body.innerText.includes(${JSON.stringify(token)})`)).toBe(false);
  await tab.until(`document.querySelector('#token-list small').textContent.match(/used \\d/)`);
  await tab.press('End', '#token-list button');

  await tab.until(`document.querySelectorAll('#token-list li').length === 0`);
  expect(await gone).toBe(1008);
  // The refused name is one.
  expect(tab.complaints.filter((each) => !each.includes('400'))).toEqual([]);
  expect(await (await signedIn()).eval(`document.querySelector('#tokens').checkVisibility()`)).toBe(false);
});

describe('a session', () => {
  test('is begun, stopped, set and found again, with the keyboard alone', async () => {
    stage.plays('long', [say('It takes time.'), { wait: true }]);
    const tab = await signedIn();
    await tab.type('#new-folder', stage.workspace);
    await tab.key('Enter');
    await tab.until(`document.activeElement.id === 'prompt'`);
    await tab.call('Input.insertText', { text: 'play long' });
    await tab.until(`document.querySelector('.conversation [type=submit]').disabled === false`);
    await tab.key('Enter');
    await tab.sees('It takes time.', '.agent');
    await tab.key('Tab');
    expect(await tab.eval('document.activeElement.innerText')).toBe('Stop');
    await tab.key('Enter');
    await tab.sees('Stopped.', '.note');

    await tab.eval(`(() => {
      const select = document.querySelector('.settings select');
      select.value = 'code';
      select.dispatchEvent(new Event('change'));
      // Each answer draws the select anew.
      window.before = select;
    })()`);
    await tab.until(`document.querySelector('.settings select') !== window.before`);
    await tab.open();
    await tab.until(`document.querySelector('.settings select')?.value === 'code'`);
    await tab.sees('It takes time.', '.agent');
    expect(tab.complaints).toEqual([]);
  });

  test('goes on after the page was loaded again in the midst of a turn', async () => {
    stage.plays('slow', [
      say('Kneading.'),
      { ask: { toolCall: oven, options } },
      say('Kneaded.'),
      { wait: true },
    ]);
    const tab = await signedIn();
    await newSession(tab);
    await prompt(tab, 'play slow');
    await tab.sees('heat-the-oven', '.card');

    await tab.open();

    await tab.sees('Kneading.', '.agent');
    await tab.press('Do not');
    await tab.sees('permission: no', '.agent');
    await tab.sees('Kneaded.', '.agent');
    await tab.sees('The agent works', '.status');
    await tab.press('Stop');
    await tab.until(`document.querySelector('.status').innerText === ''`);
    await prompt(tab, 'bread');
    await tab.sees('echo: bread', '.agent');
  });

  test('goes on after the connection was cut, and what was written stays', async () => {
    stage.plays('rest', [say('Resting.'), { wait: true }]);
    const tab = await signedIn(360, 740);
    await newSession(tab);
    await prompt(tab, 'play rest');
    await tab.sees('Resting.', '.agent');
    await tab.type('#prompt', 'half a sentence');

    stage.way.cut();
    await tab.sees('The connection was lost.', '.status');
    await tab.picture('lost-360');
    expect(await tab.eval(`document.querySelector('.stop').disabled`)).toBe(true);
    stage.way.isOpen = true;

    await tab.sees('The agent works', '.status');
    expect(await tab.eval(`document.querySelector('#prompt').value`)).toBe('half a sentence');
    expect(await tab.eval(`document.querySelectorAll('.user').length`)).toBe(1);
    await tab.press('Stop');
    await tab.until(`document.querySelector('.status').innerText === ''`);
  });

  test('has its question taken away when another client answers', async () => {
    stage.plays('ask', [{ ask: { toolCall: oven, options } }]);
    const { client, sessionId } = await clientWithSession();
    const tab = await signedIn();
    await shows(tab, sessionId);
    await prompt(tab, 'play ask');
    await tab.sees('heat-the-oven', '.card');
    const { id } = await client.inbox.next('session/request_permission');

    client.send({ id, result: { outcome: { outcome: 'selected', optionId: 'no' } } });

    await tab.sees('permission: no', '.agent');
    await tab.until(`document.querySelector('.card') === null`);
  });

  test('that cannot be opened says why, in the words of the server', async () => {
    const tab = await signedIn();
    await tab.eval(`void (location.hash = 'agent=baker&session=none&cwd=%2Ftmp')`);

    await tab.sees('Open the session again', '.transcript .error');
    expect(await tab.eval(`document.querySelector('.transcript .error').textContent.length`)).toBeGreaterThan(
      40,
    );
  });

  test('of ten thousand updates stays smooth', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => {
      if (index % 20 !== 0) return say(index % 7 === 0 ? `word ${index}\n` : `word ${index} `);
      return {
        update: {
          sessionUpdate: 'tool_call',
          toolCallId: `t${index}`,
          title: `Step ${index}`,
          kind: 'read',
          status: 'completed',
        },
      };
    });
    stage.plays('many', [...many, say('The end.')]);
    const tab = await signedIn();
    await newSession(tab);
    await tab.eval(`void (() => {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
      }).observe({ type: 'longtask' });
    })()`);

    await prompt(tab, 'play many');
    await tab.sees('The end.', '.agent');

    expect(await tab.eval(`document.querySelectorAll('.tool').length`)).toBe(500);
    expect(await tab.eval(`document.querySelectorAll('.agent').length`)).toBe(500);
    // A frame that takes longer is felt; the machine of a test may do other things besides.
    expect(await tab.eval('window.longest')).toBeLessThan(1_000);
    await tab.until(`(() => {
      const box = document.querySelector('.scroll');
      return box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    })()`);
  });
});

test('what a hostile agent says stays text', async () => {
  const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> javascript:alert(1) \u202Egnp.exe\u202C`;
  const huge = 'x'.repeat(200_000);
  stage.plays('attack', [
    say(attack),
    say(`\n\`\`\`"><script>window.hacked=1</script>\n${attack}\n\`\`\`\n${huge}`),
    {
      update: {
        sessionUpdate: 'tool_call',
        toolCallId: attack,
        title: attack,
        kind: attack,
        status: attack,
        content: [{ type: 'diff', path: attack, oldText: attack, newText: huge }],
      },
    },
    { update: { sessionUpdate: 'plan', entries: [{ content: attack, status: attack }] } },
    { update: { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 1, currency: attack } } },
    { update: { sessionUpdate: 'session_info_update', title: attack } },
    {
      update: {
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'resource_link', name: attack, uri: 'javascript:window.hacked=1' },
      },
    },
    {
      update: {
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' },
      },
    },
    { update: { sessionUpdate: 'agent_message_chunk', content: null } },
    { update: { sessionUpdate: 'tool_call_update', toolCallId: {}, content: 'none', locations: 7 } },
    { update: { sessionUpdate: 'plan', entries: 'none' } },
    {
      ask: {
        toolCall: { toolCallId: 'p', title: attack },
        options: [{ optionId: attack, name: attack, kind: 'allow_once' }],
      },
    },
  ]);
  const tab = await signedIn(360, 740);
  await newSession(tab);
  await prompt(tab, 'play attack');
  await tab.sees('onerror', '.card');
  await tab.picture('hostile-360');

  await tab.sees('<img src=x onerror="window.hacked=1">', '.agent');
  await tab.sees('\\u202egnp.exe', '.agent');
  expect(await tab.eval(`document.body.innerText.includes('\\u202e')`)).toBe(false);
  expect(await tab.eval('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  expect(
    await tab.eval(`[...document.querySelectorAll('#session a')].map((each) => each.getAttribute('href'))`),
  ).toEqual(['#']);
  await tab.press('onerror', '.card button');
  await tab.sees('permission: <img', '.agent');
  expect(await tab.eval('window.hacked')).toBeUndefined();
  expect(await tab.eval(`document.querySelectorAll('#app script, #app img, #app iframe').length`)).toBe(0);
  expect(tab.complaints).toEqual([]);
});
