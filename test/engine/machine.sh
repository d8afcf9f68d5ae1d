#!/usr/bin/env bash
# Makes a Debian 12 machine ready for the engine tests. As root:
#
#   machine.sh start   packages, the ordinary users `cai-test` and `cai-test-second`, as whom two test files at a
#                      time run `cai`, `cai-test-third` for a suite beside which nothing else runs, `cai-test-other`,
#                      who attacks, an engine of its own, the base image; what is there already is used
#   machine.sh env     prints what the tests need to know, for `eval`
#   machine.sh renew   puts a new engine in the place of one that hangs, and tells what that one was doing; does
#                      nothing to one that works
#   machine.sh stop    ends the engine with its containers, and takes back what `start` changed in the
#                      machine's network; packages, users and images stay
#
# The engine is Docker's, or podman's service of Docker's API: CAI_TEST_ENGINE=podman. All files are in one
# folder for each: $CAI_TEST_STATE, else /var/lib/containai-test or /var/lib/containai-test-podman. npm and
# apt reach their mirrors as this machine is configured. Another engine on the machine is neither used nor
# disturbed.
set -euo pipefail

engine=${CAI_TEST_ENGINE:-docker}
default_state=/var/lib/containai-test
if [[ $engine != docker ]]; then default_state+=-$engine; fi
state=${CAI_TEST_STATE:-$default_state}
host=unix://$state/docker.sock
log=$state/machine.log
user=cai-test
uid=4711
suite=bookworm
image=node:22-bookworm-slim
uv=$(sed -n 's/^ARG PIP="uv==\(.*\)"$/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../../Dockerfile")
# What make_image says below, by number: an image that an earlier version has made is made again.
recipe=3-uv-$uv
forwarding=/proc/sys/net/ipv4/ip_forward
start_timeout_s=60
answer_timeout_s=30
client_timeout_s=300
stop_timeout_s=30
# They could name another engine.
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH CONTAINER_HOST CONTAINER_CONNECTION

say() { printf 'machine: %s\n' "$1" >&2; }

fail() {
  say "$1"
  exit 1
}

# logged SENTENCE COMMAND...: the command's output only matters if it fails, and then the sentence says why.
logged() {
  local sentence=$1
  shift
  if ! "$@" </dev/null >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "$sentence; above are the last lines of $log"
  fi
}

is_missing() { ! command -v "$1" >/dev/null; }

install_packages() (
  packages=()
  # The tests use Docker's command line with either engine.
  if is_missing dockerd || is_missing docker; then packages+=(docker.io); fi
  packages_of_engine
  if is_missing debootstrap; then packages+=(debootstrap); fi
  if is_missing ip; then packages+=(iproute2); fi
  if is_missing pgrep; then packages+=(procps); fi
  if is_missing python3; then packages+=(python3); fi
  # For the machines of machines.sh.
  if is_missing sshd; then packages+=(openssh-server); fi
  # On a kernel with AppArmor the engine cannot start a container without its parser.
  if grep -qs Y /sys/module/apparmor/parameters/enabled && is_missing apparmor_parser; then
    packages+=(apparmor)
  fi
  if ((${#packages[@]} == 0)); then exit; fi
  # Debian starts the services that it installs, and the engine to run is ours.
  if [[ ! -e /usr/sbin/policy-rc.d ]]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
  fi
  say "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  logged 'apt cannot read its mirrors' apt-get update
  logged "apt cannot install ${packages[*]}" apt-get install -y --no-install-recommends "${packages[@]}"
)

# make_user NAME ID [GROUP]: in a group of its own if none is named.
make_user() {
  local name=$1 id=$2 group=(--user-group)
  if [[ -n ${3:-} ]]; then group=(--gid "$3"); fi
  if getent passwd "$name" >/dev/null; then return; fi
  if getent passwd "$id" >/dev/null; then fail "user id $id is taken, so there can be no user $name"; fi
  logged "the user $name cannot be made" useradd --uid "$id" "${group[@]}" --create-home --shell /bin/bash "$name"
}

# Containers only reach the network where the machine forwards.
open_forwarding() {
  if [[ $(<"$forwarding") == 0 ]]; then
    touch "$state/did-not-forward"
    echo 1 >"$forwarding"
  fi
}

close_forwarding() {
  if [[ ! -e $state/did-not-forward ]]; then return; fi
  # Another engine that came later needs it.
  if ! pgrep -x 'dockerd|podman' >/dev/null; then echo 0 >"$forwarding"; fi
  rm "$state/did-not-forward"
}

client() { timeout "$client_timeout_s" docker --host "$host" "$@"; }

engine_answers() { client version >/dev/null 2>&1; }

# Prints the process id of our engine; fails if it does not run. The file alone may name somebody else.
engine_pid() {
  local pid
  pid=$(cat "$state/$engine.pid" 2>/dev/null) &&
    grep -qzF -- "$host" "/proc/$pid/cmdline" 2>/dev/null &&
    printf '%s' "$pid"
}

# Waits for the engine that was started as this process and writes to this log.
await_engine() {
  local pid=$1 output=$2 deadline=$((SECONDS + start_timeout_s))
  until engine_answers; do
    if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
      tail -n 20 "$output" >&2
      fail "the engine does not start; above are the last lines of $output"
    fi
    sleep 0.1
  done
}

# Asks the engine's process to end, and ends it if it does not.
end_engine() {
  local pid deadline=$((SECONDS + stop_timeout_s))
  if ! pid=$(engine_pid); then return; fi
  kill "$pid"
  while engine_pid >/dev/null; do
    if ((SECONDS >= deadline)); then kill -KILL "$pid"; fi
    sleep 0.1
  done
}

remove_mounts() {
  local mount
  for mount in $(findmnt --raw --noheadings --output TARGET | grep "^$state/" | sort --reverse); do umount "$mount"; done
}

# The machine's own apt sources for that release: "ADDRESS SUITE COMPONENT", one a line.
apt_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sort --unique | grep -E " $suite([-/](updates|security))? "
}

has_image() {
  [[ $(client image inspect --format '{{index .Config.Labels "containai.test-recipe"}}' "$image" 2>/dev/null) == "$recipe" ]]
}

# A wheel that says no more than which version of uv it stands for. Source: Python packaging, binary distribution format.
make_wheel() {
  local folder=$1 info=uv-$uv.dist-info
  mkdir -p "$folder/wheel/$info" "$folder/wheel/uv-$uv.data/scripts"
  printf '#!python\nimport sys\nprint("uv %s (a stand-in for tests)")\nsys.exit("--version" not in sys.argv)\n' "$uv" \
    | tee "$folder/wheel/uv-$uv.data/scripts/uv" >"$folder/wheel/uv-$uv.data/scripts/uvx"
  chmod 755 "$folder/wheel/uv-$uv.data/scripts"/*
  printf 'Metadata-Version: 2.1\nName: uv\nVersion: %s\n' "$uv" >"$folder/wheel/$info/METADATA"
  printf 'Wheel-Version: 1.0\nGenerator: machine.sh\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >"$folder/wheel/$info/WHEEL"
  (cd "$folder/wheel" && find . -type f -printf '%P,,\n' >"$info/RECORD" && python3 -m zipfile -c "../uv-$uv-py3-none-any.whl" ./*)
}

# Makes the image that the official one of this name stands for: Debian, Node 22 with npm, the user `node`. Where PyPI
# cannot be reached, pip finds a stand-in for the one package that images need in a folder of it.
make_image() (
  local sources mirror root version arch
  # apt does not name what it has not fetched yet.
  sources=$(apt_sources) || { logged 'apt cannot read its mirrors' apt-get update && sources=$(apt_sources); } ||
    fail "apt on this machine has no source for $suite"
  mirror=$(awk -v suite="$suite" '$2 == suite && $3 == "main" { print $1; exit }' <<<"$sources")
  if [[ -z $mirror ]]; then fail "apt on this machine has no source for $suite main"; fi
  arch=$(uname -m)
  folder=$(mktemp -d "$state/image-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  root=$folder/root

  say "making $image"
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  if [[ -n ${http_proxy:-} ]]; then export http_proxy; fi
  if [[ -n ${https_proxy:-} ]]; then export https_proxy; fi
  logged "debootstrap cannot make $suite" debootstrap --variant=minbase "$suite" "$root" "$mirror"
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  : >"$root/etc/hostname"
  : >"$root/etc/resolv.conf"
  sed 's/^/deb /' <<<"$sources" >"$root/etc/apt/sources.list"
  {
    printf 'Acquire::Languages "none";\n'
    apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy )' || true
  } >"$root/etc/apt/apt.conf.d/90machine"

  local modules=$folder/node_modules node=node-linux-${arch/x86_64/x64}
  node=${node/aarch64/arm64}
  logged 'npm cannot fetch Node 22' \
    npm install --prefix "$folder" --no-save --ignore-scripts --no-audit --no-fund "$node@22" npm@10
  install "$modules/$node/bin/node" "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules"
  cp -r "$modules/npm" "$root/usr/local/lib/node_modules/"
  chown -R 0:0 "$root/usr/local/lib/node_modules"
  local name
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
  ln -s node "$root/usr/local/bin/nodejs"
  chroot "$root" useradd --uid 1000 --user-group --create-home --shell /bin/bash node
  # Like the official one, it has an entry point that takes for an argument of node what is no command.
  cat >"$root/usr/local/bin/docker-entrypoint.sh" <<'SH'
#!/bin/sh
if command -v -- "$1" >/dev/null; then exec "$@"; fi
exec node "$@"
SH
  chmod 755 "$root/usr/local/bin/docker-entrypoint.sh"
  version=$(chroot "$root" node --print process.versions.node)
  make_wheel "$folder"
  install -D -m 644 -t "$root/usr/local/share/wheels" "$folder"/uv-*.whl
  printf '[global]\nfind-links = /usr/local/share/wheels\nretries = 0\n' >"$root/etc/pip.conf"

  tar -C "$root" --numeric-owner -c . | client import \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change "ENV NODE_VERSION=$version" \
    --change "LABEL containai.test-recipe=$recipe" \
    --change 'ENTRYPOINT ["docker-entrypoint.sh"]' \
    --change 'CMD ["node"]' \
    - "$image" >>"$log" || fail "the engine does not take the image $image"
)

# Certificates that this machine adds, in a file that the ordinary user can read; none if it adds none.
copy_ca_file() {
  local file=${NODE_EXTRA_CA_CERTS:-}
  if [[ -z $file ]]; then file=$(npm config get cafile 2>>"$log"); fi
  rm -f "$state/ca.crt"
  case $file in '' | null | undefined) return ;; esac
  install -m 644 "$file" "$state/ca.crt" || fail "the certificates in $file cannot be read"
}

start() {
  install -d -m 711 "$state"
  exec 9>"$state/lock"
  flock 9
  : >"$log"
  if is_missing npm; then fail 'npm is missing: the tests need Node, and the image is made with npm'; fi
  install_packages
  make_user "$user" "$uid"
  # Who attacks them, in test/escape.
  make_user "$user-other" "$((uid + 1))"
  # The engine answers that group.
  make_user "$user-second" "$((uid + 2))" "$user"
  make_user "$user-third" "$((uid + 3))" "$user"
  if ! engine_answers; then start_engine; fi
  if ! has_image; then make_image; fi
  copy_ca_file
  say "ready: an engine answers on $host"
}

print_env() {
  if ! engine_answers; then fail "no engine answers on $host: run \"machine.sh start\" first"; fi
  printf 'export %s=%q\n' CAI_TEST_ENGINE "$engine" CAI_TEST_STATE "$state" DOCKER_HOST "$host" CAI_TEST_USER "$user $user-second"
  if [[ -e $state/ca.crt ]]; then printf 'export CAI_TEST_CA_FILE=%q\n' "$state/ca.crt"; fi
  printf 'export CAI_TEST_NPM_REGISTRY=%q\n' "$(npm config get registry 2>/dev/null)"
}

# Engines have bugs of their own: one that hangs would fail every test that follows.
renew() {
  exec 9>"$state/lock"
  flock 9
  if timeout "$answer_timeout_s" docker --host "$host" info >/dev/null 2>&1; then return; fi
  say "the engine does not tell what it is within $answer_timeout_s s, and is replaced; its state:"
  state_of_engine >&2 || true
  local pid
  if pid=$(engine_pid); then kill -KILL "$pid"; fi
  stop_engine
  start_engine
}

stop() {
  if [[  ! -d $state ]]; then return; fi
  exec 9>"$state/lock"
  flock 9
  stop_engine
  close_forwarding
}

case $engine in
  docker | podman) source "$(dirname "${BASH_SOURCE[0]}")/machine-$engine.sh" ;;
  *) fail "CAI_TEST_ENGINE has to be docker or podman, and is \"$engine\"" ;;
esac
if ((EUID != 0)); then fail 'only root can make a machine ready'; fi
case ${1:-} in
  start) start ;;
  renew) renew ;;
  env) print_env ;;
  stop) stop ;;
  *) fail 'usage: machine.sh start | env | renew | stop' ;;
esac
