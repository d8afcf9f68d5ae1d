/** Programs that use the network, as scripts for the container of a workspace. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commonHosts } from '../../src/network/egress/listed-hosts';
import type { Place } from './place';
import { content, host, wheel, type Services } from './services';

/** Where packages come from that our image has not. */
export const debian = commonHosts.find(({ what }) => what === 'Debian')!.rule;

/** The file of the workspace that has the authority of the services, as PEM. */
export const authority = 'authority.pem';

const packages = [
  // The only cargo of Debian's that knows registries without git.
  ...['cargo-web', 'libhttp-parser2.9', 'libpcre3'],
  ...['golang-1.19-go', 'wget', 'openjdk-17-jre-headless', 'libbsh-java', 'maven'],
];

const aptOptions =
  '-o Dir::Etc::SourceList=$PWD/sources -o Dir::Etc::SourceParts=/dev/null -o Dir::State=$PWD/apt -o Dir::Cache=$PWD/apt';
const aptFrom = (sources: string): string =>
  `mkdir -p apt/lists/partial apt/archives/partial && echo "${sources}" > sources && apt-get ${aptOptions} -qq -o APT::Update::Error-Mode=any update`;
const java = 'export JAVA_HOME=$(echo $PWD/debian/usr/lib/jvm/java-17-*) &&';
const trustStore = 'authority.jks';
const javaTrust = `-Djavax.net.ssl.trustStore=${trustStore}`;

/** Puts the packages into `debian`, where links that lead to the root folder lead to that one. */
const unpack = `${aptFrom(`deb http://${debian}/debian bookworm main`)} &&
jars=$(apt-cache ${aptOptions} depends --recurse --important maven | grep '^lib.*-java$') &&
apt-get ${aptOptions} -qq download ${packages.join(' ')} $jars &&
for each in *.deb; do dpkg -x $each debian; done &&
find debian -lname '/*' -exec sh -c 'ln -sfn "$PWD/debian$(readlink $0)" $0' {} ';' &&
${java} $JAVA_HOME/bin/keytool -importcert -noprompt -keystore ${trustStore} -storetype JKS -storepass changeit -file ${authority} 2>&1`;

const wheelInfo = `Metadata-Version: 2.1\nName: ${content}\nVersion: 1.0.0\n`;
const wheelFiles = { METADATA: wheelInfo, WHEEL: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n', RECORD: '' }; // prettier-ignore
const pack = `import zipfile
with zipfile.ZipFile('${wheel}', 'w') as wheel:
    for name, text in ${JSON.stringify(wheelFiles)}.items(): wheel.writestr('made_up-1.0.0.dist-info/' + name, text)`;

/** The parent of a project of Maven's. */
const parent = `<groupId>${content}</groupId><artifactId>parent</artifactId><version>1.0.0</version>`;
const project = (more: string): string =>
  `<project><modelVersion>4.0.0</modelVersion>${more}<packaging>pom</packaging></project>`;

/**
 * Gives a workspace the programs that our image has not, if these are wanted, and the services what some programs are
 * to find.
 */
export async function givePrograms(place: Place, services: Services, wantsAll: boolean): Promise<void> {
  if (wantsAll) await place.prints(['sh', '-c', unpack]);
  await place.prints(['python3', '-c', pack]);
  const url = `https://${host}:${services.portFor(443)}/cargo`;
  const found = [{ name: content, description: content, max_version: '1.0.0' }];
  for (const [path, text] of [
    [`/${wheel}`, readFileSync(join(place.workspace, wheel))],
    ['/cargo/config.json', JSON.stringify({ dl: url, api: url })],
    ['/cargo/api/v1/crates', JSON.stringify({ crates: found, meta: { total: 1 } })],
    [`/go/${content}.example/module/@v/list`, 'v1.0.0\n'],
    [`/go/${content}.example/module/@v/v1.0.0.info`, '{"Version":"v1.0.0"}'],
    [`/go/${content}.example/module/@v/v1.0.0.mod`, `module ${content}.example/module\n`],
    [`/maven/${content}/parent/1.0.0/parent-1.0.0.pom`, project(parent)],
  ] as const)
    services.files.set(path, text);
}

const apt = (url: string): string => `${aptFrom(`deb [trusted=yes] ${url} ./`)} && cat apt/lists/*Packages`;
const pip = (url: string): string =>
  `python3 -m pip download --retries 1 --no-deps --index-url ${url} ${content}`;
const fetches = (url: string): string =>
  `node -e 'fetch("${url}").then((answer) => answer.text()).then(console.log)'`;
const gets = (url: string): string =>
  `node -e 'require("node:https").get("${url}", (answer) => answer.pipe(process.stdout))'`;
const urlopen = (url: string): string =>
  `python3 -c 'import urllib.request; print(urllib.request.urlopen("${url}").read())'`;
const wget = (url: string): string => `debian/usr/bin/wget -nv --ca-certificate ${authority} -O - ${url}`;
const cargo = (url: string): string =>
  `export LD_LIBRARY_PATH=$(echo debian/usr/lib/*-linux-gnu):$(echo debian/lib/*-linux-gnu) && CARGO_NET_RETRY=0 debian/usr/bin/cargo search --index sparse+${url}/ ${content}`;
const go = (url: string): string =>
  `GOPROXY=${url} GONOSUMDB=* debian/usr/lib/go-1.19/bin/go list -m -versions ${content}.example/module`;
const opensStream = (url: string): string =>
  `${java} echo 'print(new java.util.Scanner(new java.net.URL("${url}").openStream()).next());' > get.bsh && $JAVA_HOME/bin/java ${javaTrust} -cp debian/usr/share/java/bsh.jar bsh.Interpreter get.bsh`;
const maven = (url: string): string =>
  `${java} echo '${project(`<parent>${parent}</parent><artifactId>a</artifactId><repositories><repository><id>central</id><url>${url}</url></repository></repositories>`)}' > pom.xml && rm -rf m2 && MAVEN_OPTS=${javaTrust} MAVEN_HOME=debian/usr/share/maven debian/usr/share/maven/bin/mvn -B -q -Dmaven.repo.local=m2 validate && cat m2/${content}/parent/1.0.0/*.pom`;

/**
 * Programs as the table of the docs names them: the port that is usual, where they find `content` at the services, and
 * a script.
 */
export const programs: Record<string, [port: number, path: string, script: (url: string) => string]> = {
  'curl, by HTTPS': [443, 'content', (url) => `curl -sS ${url}`],
  'curl, by HTTP': [80, 'content', (url) => `curl -sS ${url}`],
  'wget, by HTTPS': [443, 'content', wget],
  'wget, by HTTP': [80, 'content', wget],
  'git, by HTTPS': [443, 'repository.git', (url) => `git ls-remote ${url}`],
  'git, by HTTP': [80, 'repository.git', (url) => `git ls-remote ${url}`],
  'git, by SSH': [22, 'repository.git', (url) => `git ls-remote ${url}`],
  npm: [443, 'registry', (url) => `npm view --registry ${url} ${content} description`],
  pip: [443, 'pypi', pip],
  "Python's urllib": [443, 'content', urlopen],
  "Node's fetch": [443, 'content', fetches],
  "Node's https": [443, 'content', gets],
  cargo: [443, 'cargo', cargo],
  Go: [443, 'go', go],
  'Java, by HTTPS': [443, 'content', opensStream],
  'Java, by HTTP': [80, 'content', opensStream],
  Maven: [443, 'maven', maven],
  'apt-get': [80, 'debian', apt],
};

/** Whether a program is one that our image has not: Debian has 300 MB of them. */
export const isGiven = (name: string): boolean => programs[name]![2]('').includes('debian/');

/** Variables by which the other programs trust the authority of the services. */
export const trust = [
  'CARGO_HTTP_CAINFO',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_FILE',
];
