# shellcheck shell=bash disable=SC2154
# What machine.sh needs to know of Docker's engine, which sources this.

bridge=cai-test0
gateway=10.211.47.1/24

packages_of_engine() { :; }

# firewall -I or -D: the rules for our bridge, before those of another engine, which may drop all else.
firewall() {
  iptables -w -t nat "$1" POSTROUTING -s "$gateway" ! -o "$bridge" -j MASQUERADE &&
    iptables -w "$1" FORWARD -i "$bridge" -j ACCEPT &&
    iptables -w "$1" FORWARD -o "$bridge" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
}

# The engine's own bridge would be shared with any other engine, and its firewall rules replace theirs.
make_network() {
  if [[ -e /sys/class/net/$bridge ]]; then
    local owner
    owner=$(cat "/sys/class/net/$bridge/ifalias")
    if [[ $owner != "$state" ]]; then fail "the bridge $bridge belongs to ${owner:-somebody else}: stop that first"; fi
    return
  fi
  firewall -D 2>/dev/null || true
  logged "the bridge $bridge cannot be made" ip link add name "$bridge" type bridge
  ip link set dev "$bridge" alias "$state"
  logged "the bridge $bridge cannot be $gateway" ip address add "$gateway" dev "$bridge"
  logged "the bridge $bridge cannot be used" ip link set dev "$bridge" up
  logged 'the firewall cannot be opened for containers' firewall -I
  open_forwarding
}

remove_network() {
  if [[ $(cat "/sys/class/net/$bridge/ifalias" 2>/dev/null) != "$state" ]]; then return; fi
  firewall -D 2>/dev/null || true
  ip link delete "$bridge"
}

start_engine() {
  if pid=$(engine_pid); then fail "the engine runs as process $pid, but does not answer: see $state/dockerd.log"; fi
  make_network
  # After a SIGKILL: a process 1 that never reaps keeps the ids taken, and then the new engine waits for the old.
  rm -f "$state/docker.pid" "$state/exec/containerd/containerd.pid"
  # Neither the machine's configuration of an engine nor the containers of one are to be ours.
  printf '{}\n' >"$state/daemon.json"
  setsid dockerd "--host=$host" --group="$user" --config-file="$state/daemon.json" --pidfile="$state/docker.pid" \
    --data-root="$state/data" --exec-root="$state/exec" \
    --containerd-namespace=cai-test --containerd-plugins-namespace=cai-test-plugins \
    --bridge="$bridge" --iptables=false --ip6tables=false \
    </dev/null >"$state/dockerd.log" 2>&1 9>&- &
  await_engine $! "$state/dockerd.log"
}

# Who in it waits for minutes. Source: Docker's documentation, "Force a stack trace to be logged".
state_of_engine() {
  local stacks deadline=$((SECONDS + 5))
  stacks=("$state"/exec/goroutine-stacks-*.log)
  rm -f "${stacks[@]}"
  kill -USR1 "$(engine_pid)"
  until stacks=("$state"/exec/goroutine-stacks-*.log) && [[ -s ${stacks[0]} ]]; do
    if ((SECONDS >= deadline)); then return; fi
    sleep 0.1
  done
  awk -v RS= '/^goroutine .* minutes/' "${stacks[0]}" | grep -v '^\s' | head -n 200
}

# Ends the engine. One that was killed has left its containers running: they end with their shims.
stop_engine() {
  local containers volumes pid
  if engine_answers; then
    containers=$(client ps --all --quiet)
    if [[ -n $containers ]]; then xargs <<<"$containers" timeout "$client_timeout_s" docker --host "$host" rm --force >/dev/null; fi
    volumes=$(client volume ls --quiet)
    if [[ -n $volumes ]]; then xargs <<<"$volumes" timeout "$client_timeout_s" docker --host "$host" volume rm >/dev/null; fi
  fi
  end_engine
  pkill -KILL -f -- "^containerd --config $state/exec/containerd/containerd.toml" || true
  for pid in $(pgrep -f -- "-address $state/exec/containerd/containerd.sock"); do
    pkill -KILL -P "$pid" || true
    kill -KILL "$pid" 2>/dev/null || true
  done
  remove_mounts
  rm -rf "$state/exec" "$state/docker.sock" "$state/docker.pid"
  remove_network
}
