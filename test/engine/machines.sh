#!/usr/bin/env bash
# Two "machines" beside this one, for tests of engines elsewhere. As root, after `machine.sh start`:
#
#   machines.sh start          machines 1 and 2: each with a network, processes' mounts, Docker's engine and sshd of its
#                              own; what runs already is used
#   machines.sh env            prints what the tests need to know, for `eval`
#   machines.sh kill-engine N  kills the engine of machine N, with its containers
#   machines.sh start-engine N starts it again
#   machines.sh stop           ends all of it; images stay
#
# Machine N is at 10.211.48.(4N+2), and ssh knows it as cai-machine-N. Who $CAI_TEST_USER names can sign in there, and
# root; the engine also listens on port 2376, for who has a certificate of $state/tls. Folders are the same
# everywhere, but for $state/other, which is another one on each machine. All files are in one folder: $CAI_TEST_MACHINES,
# else /var/lib/containai-test-machines.
set -euo pipefail

state=${CAI_TEST_MACHINES:-/var/lib/containai-test-machines}
# Those of machine.sh: an account is opened when a machine starts, and not later.
read -ra users <<<"${CAI_TEST_USER:-cai-test cai-test-second}"
group=cai-test
limit_s=180
ssh_config=/etc/ssh/ssh_config.d/containai-test-machines.conf
machines=(1 2)
# They could name another engine than that of the machine.
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH

say() { printf 'machines: %s\n' "$1" >&2; }

fail() {
  say "$1"
  exit 1
}

address() { printf '10.211.48.%s' "$((4 * $1 + ${2:-2}))"; }

# The process that holds a machine's mounts; fails if there is none.
holder() {
  local pid
  pid=$(cat "$state/$1/pid" 2>/dev/null) && [[ $(cat "/proc/$pid/environ" 2>/dev/null | tr '\0' '\n') == *"CAI_MACHINE=$state/$1"* ]] &&
    printf '%s' "$pid"
}

# on N COMMAND...: runs it in the machine.
on() {
  local pid
  pid=$(holder "$1") || fail "machine $1 does not run"
  shift
  nsenter --target "$pid" --mount --net --uts -- "$@"
}

# until SENTENCE COMMAND...: waits for its success.
await() {
  local sentence=$1 deadline=$((SECONDS + limit_s))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then fail "$sentence"; fi
    sleep 0.1
  done
}

make_network() {
  local n=$1 name=cai-machine-$1
  ip netns add "$name"
  ip link add "cai-m$n" type veth peer name eth0 netns "$name"
  ip address add "$(address "$n" 1)/30" dev "cai-m$n"
  ip link set "cai-m$n" up
  ip -n "$name" address add "$(address "$n")/30" dev eth0
  ip -n "$name" link set lo up
  ip -n "$name" link set eth0 up
  ip -n "$name" route add default via "$(address "$n" 1)"
}

firewall() {
  iptables -w -t nat "$1" POSTROUTING -s 10.211.48.0/28 ! -d 10.211.48.0/28 -j MASQUERADE
}

# Whoever holds the namespaces, with the folders that a machine has for itself.
start_holder() {
  local own=$state/$1
  install -d -m 711 "$own" "$own/data" "$own/other"
  # sshd lets nobody in whose account is locked, as it is without a password.
  (umask 077 && sed "$(printf 's/^\(%s:\)!/\\1*/;' "${users[@]}")" /etc/shadow >"$own/shadow")
  CAI_MACHINE=$own setsid nsenter "--net=/run/netns/cai-machine-$1" unshare --mount --uts --propagation private bash -c "
    set -e
    hostname 'cai-machine-$1'
    mount -t tmpfs -o mode=755 none /run
    mkdir /run/sshd /run/lock
    mkdir -p /var/lib/docker
    mount --bind '$own/data' /var/lib/docker
    mount --bind '$own/other' '$state/other'
    mount --bind '$own/shadow' /etc/shadow
    echo \$\$ >'$own/pid'
    # Whoever looks at a process just when it becomes another program sees no environment.
    sleep infinity & wait" </dev/null >"$own/log" 2>&1 9>&- &
  await "machine $1 does not start: see $own/log" holder "$1"
}

start_sshd() {
  on "$1" setsid /usr/sbin/sshd -f /dev/null -h "$state/host_key" -o "ListenAddress=$(address "$1")" -o UsePAM=no \
    -o StrictModes=no -o "AuthorizedKeysFile=$state/keys.pub" -o PidFile=none -o MaxStartups=100 -E "$state/$1/sshd.log" \
    </dev/null >/dev/null 2>&1 9>&-
}

start_engine() {
  local own=$state/$1 tls=$state/tls
  # Of one that was killed.
  on "$1" rm -f /run/docker.pid /run/docker/containerd/containerd.pid
  on "$1" setsid dockerd "--group=$group" --config-file="$state/daemon.json" --host=unix:///run/docker.sock \
    --host=tcp://0.0.0.0:2376 --tlsverify --tlscacert="$tls/ca.pem" --tlscert="$tls/server.pem" --tlskey="$tls/server-key.pem" \
    </dev/null >"$own/dockerd.log" 2>&1 9>&- &
  await "the engine of machine $1 does not start: see $own/dockerd.log" on "$1" docker version
}

engine_pid() { on "$1" cat /run/docker.pid; }

# An authority, a certificate for both engines, and one for who uses them.
make_certificates() {
  local tls=$state/tls who
  install -d -m 700 "$tls"
  openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=machines -keyout "$tls/ca-key.pem" -out "$tls/ca.pem"
  for who in server client; do
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$who" -keyout "$tls/$who-key.pem" -out "$tls/$who.csr"
    openssl x509 -req -in "$tls/$who.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca-key.pem" -CAcreateserial -days 365 -out "$tls/$who.pem" \
      -extfile <(printf 'subjectAltName=IP:%s,IP:%s\nextendedKeyUsage=%sAuth\n' "$(address 1)" "$(address 2)" "$who")
  done
}

# For everybody on this machine.
tell_ssh() {
  local n
  for n in "${machines[@]}"; do printf '%s %s\n' "$(address "$n")" "$(cut -d ' ' -f 1,2 "$state/host_key.pub")"; done >"$state/known_hosts"
  for n in "${machines[@]}"; do
    printf 'Host cai-machine-%s\n  HostName %s\n  IdentityFile %s/key-%%u\n  UserKnownHostsFile %s/known_hosts\n' \
      "$n" "$(address "$n")" "$state" "$state"
  done >"$ssh_config"
}

start() {
  local n
  command -v sshd >/dev/null || fail 'sshd is missing: install openssh-server'
  install -d -m 711 "$state" "$state/other"
  exec 9>"$state/lock"
  flock 9
  printf '{}\n' >"$state/daemon.json"
  for n in host_key "${users[@]/#/key-}" key-root; do [[ -e $state/$n ]] || ssh-keygen -q -t ed25519 -N '' -f "$state/$n"; done
  for n in "${users[@]}"; do chown "$n" "$state/key-$n"; done
  cat "$state"/key-*.pub >"$state/keys.pub"
  [[ -e $state/tls/client.pem ]] || make_certificates >"$state/tls.log" 2>&1 || fail "openssl makes no certificates: see $state/tls.log"
  for n in "${machines[@]}"; do
    if ! holder "$n" >/dev/null; then
      ip netns delete "cai-machine-$n" 2>/dev/null || true
      make_network "$n"
      start_holder "$n"
    fi
    on "$n" pgrep --ns "$(holder "$n")" --nslist mnt --exact sshd >/dev/null || start_sshd "$n"
    on "$n" docker version >/dev/null 2>&1 || start_engine "$n"
  done
  firewall -C 2>/dev/null || firewall -I
  tell_ssh
  say "ready: machines at $(address 1) and $(address 2)"
}

print_env() {
  holder 1 >/dev/null && holder 2 >/dev/null || fail 'the machines do not run: run "machines.sh start" first'
  printf 'export %s=%q\n' CAI_TEST_MACHINES "$state"
}

# All that runs with the mounts of a machine: its engine, what that has started, and sshd.
processes_of() {
  local mounts pid
  mounts=$(readlink "/proc/$1/ns/mnt")
  for pid in /proc/[0-9]*; do
    if [[ $(readlink "$pid/ns/mnt" 2>/dev/null) == "$mounts" ]]; then printf '%s\n' "${pid#/proc/}"; fi
  done
}

stop() {
  local n pid each
  if [[ ! -d $state ]]; then return; fi
  exec 9>"$state/lock"
  flock 9
  for n in "${machines[@]}"; do
    if pid=$(holder "$n"); then
      each=$(on "$n" docker ps --all --quiet || true)
      if [[ -n $each ]]; then on "$n" docker rm --force $each >/dev/null || true; fi
      for each in $(processes_of "$pid"); do [[ $each == "$pid" ]] || kill -KILL "$each" 2>/dev/null || true; done
      kill -KILL "$pid"
    fi
    ip netns delete "cai-machine-$n" 2>/dev/null || true
    ip link delete "cai-m$n" 2>/dev/null || true
  done
  firewall -D 2>/dev/null || true
  rm -f "$ssh_config"
}

if ((EUID != 0)); then fail 'only root can make machines'; fi
case ${1:-} in
  start) start ;;
  env) print_env ;;
  kill-engine) kill -KILL "$(engine_pid "$2")" ;;
  start-engine) start_engine "$2" ;;
  stop) stop ;;
  *) fail 'usage: machines.sh start | env | kill-engine N | start-engine N | stop' ;;
esac
