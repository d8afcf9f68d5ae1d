# shellcheck shell=bash disable=SC2154
# The control plane and each node are places with a network and mounts of their own, for machine.sh, which sources
# this. A bridge in the control plane's connects them and this machine, in which nothing changes but an interface
# with the routes through it: no firewall rule of an engine applies.

interface=$name
network=10.217
host_address=$network.0.1
control_plane_address=$network.0.2
places=(control-plane "${nodes[@]/#/node}")
# The controller manager makes volumes as folders of this one, which cannot be chosen.
volumes=/tmp/hostpath_pv
# What a kubelet sets for the whole machine, which here only reaches copies of them.
kernel_settings=(
  kernel/keys/root_maxbytes kernel/keys/root_maxkeys kernel/panic kernel/panic_on_oops
  vm/overcommit_memory vm/panic_on_oom
)

node_address() { echo "$network.0.1$1"; }
pods_of_node() { echo "$network.$1.0/24"; }

# at PLACE COMMAND...: with its network, but the mounts of this machine.
at() { nsenter --net="$run/places/$1.net" "${@:2}"; }

# The network and the mounts of a place live until the files here are unmounted and no process has them. They are
# not below /run/netns, as `ip netns` leaves mounts behind.
make_places() {
  local place
  if [[ -e /sys/class/net/$interface ]]; then
    fail "the interface $interface belongs to $(cat "/sys/class/net/$interface/ifalias"): stop that first"
  fi
  install -d -m 700 "$run/places"
  install -d "$run/volumes" "$volumes"
  # Mounts cannot be kept where mounts spread to others.
  mount --bind "$run/places" "$run/places"
  mount --make-private "$run/places"
  for place in "${places[@]}"; do
    install -d -m 711 "$run/$place" "$run/$place/log"
    touch "$run/places/$place.net" "$run/places/$place.mounts"
    unshare --net="$run/places/$place.net" ip link set lo up
    make_mounts "$place"
  done
  connect_places
}

# Folders that all kubelets and containerds write to, whatever they are told, become those of the place alone.
make_mounts() {
  # shellcheck disable=SC2016 # the inner shell puts them in
  logged "$1 cannot have mounts of its own" \
    unshare --mount="$run/places/$1.mounts" --propagation private bash -euc '
      state=$1 log=$2 from=$3 volumes=$4
      shift 4
      mount --make-rshared /
      mount --bind "$from" "$volumes"
      # The state may be below one of the folders that this hides.
      cd "$state"
      mount -t tmpfs -o mode=755 tmpfs /run
      mount -t tmpfs -o mode=755 tmpfs /var/lib
      mkdir -p "$state"
      mount --no-canonicalize --bind . "$state"
      mkdir /run/netns
      mount --bind "$log" /var/log
      for setting; do
        mkdir -p "/run/settings/${setting%/*}"
        cat "/proc/sys/$setting" >"/run/settings/$setting"
        mount --bind "/run/settings/$setting" "/proc/sys/$setting"
      done
    ' bash "$state" "$run/$1/log" "$run/volumes" "$volumes" "${kernel_settings[@]}"
}

# plug NAME: connects an interface in the control plane with the bridge.
plug() { at control-plane ip link set "$1" master bridge up; }

connect_places() {
  local node other route
  at control-plane ip link add bridge type bridge
  at control-plane ip address add "$control_plane_address/24" dev bridge
  at control-plane ip link set bridge up

  ip link add "$interface" type veth peer name host netns "$run/places/control-plane.net"
  ip link set "$interface" alias "$state"
  plug host
  ip address add "$host_address/24" dev "$interface"
  ip link set "$interface" up

  for node in "${nodes[@]}"; do
    at control-plane ip link add "node$node" type veth peer name eth0 netns "$run/places/node$node.net"
    plug "node$node"
    at "node$node" ip address add "$(node_address "$node")/24" dev eth0
    at "node$node" ip link set eth0 up
    at "node$node" ip route add default via "$host_address"
    at "node$node" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  done
  for node in "${nodes[@]}"; do
    route=("$(pods_of_node "$node")" via "$(node_address "$node")")
    ip route add "${route[@]}"
    at control-plane ip route add "${route[@]}"
    for other in "${nodes[@]}"; do
      if ((other != node)); then at "node$other" ip route add "${route[@]}"; fi
    done
  done
  reach_first_service
  set_policy on
}

# Nothing serves addresses of services here but for that of the API server, which every pod is told.
reach_first_service() {
  local node
  at control-plane ip address add "$first_service/32" dev bridge
  at control-plane iptables --table nat --append PREROUTING --destination "$first_service" --protocol tcp --dport 443 \
    --jump REDIRECT --to-ports 6443
  for node in "${nodes[@]}"; do at "node$node" ip route add "$first_service" via "$control_plane_address"; done
}

# set_policy on|node|off: whether what pods send is dropped before it reaches anything, their node and their neighbours
# included. The network plugin here enforces no policy, so this stands for one that does, where a policy forbids all:
# it follows no labels. With "node", they reach their node, which some plugins always allow. Pods that are to have a network
# need it off. What enters a pod by its node, as a forwarded port, does not come this way.
set_policy() {
  local node
  for node in "${nodes[@]}"; do
    at "node$node" ebtables-nft --table nat --flush
    if [[ $1 == node ]]; then
      at "node$node" ebtables-nft --table nat --append PREROUTING --in-interface veth+ --protocol IPv4 \
        --ip-destination "$(node_address "$node")" --jump ACCEPT
    fi
    if [[ $1 != off ]]; then
      at "node$node" ebtables-nft --table nat --append PREROUTING --in-interface veth+ --protocol '!' ARP --jump DROP
    fi
  done
}

# set_network NAME on|off: whether the bridge passes what comes from that interface and goes to it.
set_network() {
  local port=$1
  if [[ $port == machine ]]; then port=host; fi
  if ! at control-plane ip link show dev "$port" >/dev/null 2>&1; then usage; fi
  if [[ $2 == on ]]; then plug "$port"; else at control-plane ip link set "$port" nomaster; fi
}

# With the interface, the routes of this machine go as well.
remove_places() {
  local mount
  for mount in $(findmnt --raw --noheadings --output TARGET | grep "^$run/" | sort --reverse); do umount "$mount"; done
  if [[ $(cat "/sys/class/net/$interface/ifalias" 2>/dev/null) == "$state" ]]; then ip link delete "$interface"; fi
  # Another cluster may have volumes there.
  rmdir "$volumes" 2>/dev/null || true
}
