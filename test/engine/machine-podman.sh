# shellcheck shell=bash disable=SC2154
# What machine.sh needs to know of podman's service of Docker's API, which sources this.

bridge=cai-test1
subnet=10.211.48.0/24
gateway=10.211.48.1
# Debian's package of podman may bring another one, which needs systemd.
runtime=runc

packages_of_engine() {
  if is_missing podman; then packages+=(podman); fi
  if is_missing "$runtime"; then packages+=("$runtime"); fi
  if is_missing conmon; then packages+=(conmon); fi
  # podman only recommends them: the first process of a container, and what connects it.
  if is_missing catatonit; then packages+=(catatonit); fi
  if [[ ! -x /usr/lib/podman/netavark ]]; then packages+=(netavark); fi
  if is_missing iptables; then packages+=(iptables); fi
}

# Neither the machine's configuration nor the storage, locks and networks of another podman are to be ours.
# Where it works, its monitors leave a file when memory has run out.
podman=(env "--chdir=$state" "CONTAINERS_CONF=$state/containers.conf" "TMPDIR=$state/tmp"
  podman --root "$state/storage" --runroot "$state/run" --storage-driver overlay)

configure() {
  mkdir -p "$state/tmp" "$state/networks"
  # podman asks for more than this machine may allow, where only a privileged process can raise limits.
  cat >"$state/containers.conf" <<TOML
[containers]
default_ulimits = ["nofile=$(ulimit -Sn):$(ulimit -Hn)", "nproc=4096:4096"]

[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
image_copy_tmp_dir = "$state/tmp"
lock_type = "file"
runtime = "$runtime"
tmp_dir = "$state/libpod"

[network]
network_backend = "netavark"
network_config_dir = "$state/networks"
TOML
  # Its own network of that name would have the bridge and the addresses that another podman uses.
  cat >"$state/networks/podman.json" <<JSON
{
  "name": "podman",
  "id": "$(printf '%s' "$state" | sha256sum | cut -d' ' -f1)",
  "driver": "bridge",
  "network_interface": "$bridge",
  "subnets": [{ "subnet": "$subnet", "gateway": "$gateway" }],
  "ipv6_enabled": false,
  "internal": false,
  "dns_enabled": false,
  "ipam_options": { "driver": "host-local" }
}
JSON
}

# Prints the ids of the processes that watch over our containers.
monitors() { pgrep -f -- "^\S*conmon .* -b $state/storage/" || true; }

start_engine() {
  local pid
  if pid=$(engine_pid); then fail "the engine runs as process $pid, but does not answer: see $state/podman.log"; fi
  if [[ -e /sys/class/net/$bridge && -z $(monitors) ]]; then
    fail "the bridge $bridge belongs to somebody else: stop that first"
  fi
  configure
  # It is forwarding from the first container on.
  open_forwarding
  rm -f "$state/docker.sock"
  # Until the group is given the socket, only root can write there.
  umask 022
  setsid "${podman[@]}" system service --time=0 "$host" </dev/null >"$state/podman.log" 2>&1 9>&- &
  echo $! >"$state/podman.pid"
  await_engine $! "$state/podman.log"
  chgrp "$user" "$state/docker.sock"
  chmod 660 "$state/docker.sock"
}

state_of_engine() { tail -n 200 "$state/podman.log"; }

# What netavark leaves in the firewall, and podman among the control groups, unless another podman uses it.
remove_traces() {
  local table chain
  if iptables -w -S NETAVARK_FORWARD 2>/dev/null | grep -q '^-A'; then return; fi
  for table in filter nat; do
    iptables -w -t "$table" -S | sed -n 's/^-A \(.* -j NETAVARK.*\)/\1/p' | xargs -rL1 iptables -w -t "$table" -D
    for chain in $(iptables -w -t "$table" -S | sed -n 's/^-N \(NETAVARK.*\)/\1/p'); do
      iptables -w -t "$table" -F "$chain"
      iptables -w -t "$table" -X "$chain"
    done
  done
  rmdir /sys/fs/cgroup/{,*/}libpod_parent{/conmon,} 2>/dev/null || true
}

# Ends the engine with its containers, which would outlive it.
stop_engine() {
  if [[ -e $state/containers.conf ]]; then
    "${podman[@]}" rm --all --force --time 0 --volumes >/dev/null
    "${podman[@]}" volume rm --all --force >/dev/null
  fi
  end_engine
  local pid
  for pid in $(monitors); do
    pkill -KILL -P "$pid" || true
    kill -KILL "$pid" 2>/dev/null || true
  done
  remove_mounts
  rm -rf "$state/run" "$state/libpod" "$state/tmp" "$state/docker.sock" "$state/podman.pid"
  remove_traces
}
