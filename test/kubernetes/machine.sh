#!/usr/bin/env bash
# Runs a real Kubernetes 1.20 with two nodes on a Debian 12 machine, for the tests of this folder. As root:
#
#   machine.sh start                 the cluster, and the images that the tests need; what is there already is used
#   machine.sh env                   prints what the tests need to know, for `eval`
#   machine.sh import IMAGE...       gives both nodes images of the engine; prints for each "NAME ID", with the id
#                                    that Kubernetes reports as `imageID`
#   machine.sh kill NAME [SIGNAL]    ends a process of the cluster at once, or sends it another signal: etcd,
#                                    api-server, controller-manager, scheduler, containerd-node1, kubelet-node1,
#                                    containerd-node2, kubelet-node2, registry or registry-nodes
#   machine.sh revive NAME           starts one that was killed, or continues one that was stopped
#   machine.sh policy on|node|off    whether pods are kept from every network, as at the start, but with "node" for their
#                                    own node
#   machine.sh network NAME on|off   whether the control plane reaches a node and back: node1, node2; or this machine:
#                                    machine. Off, packets are lost without a word
#   machine.sh stop                  ends all of it; only packages, programs and the log stay
#
# Each node has a network, mounts, control groups and a containerd of its own; all that runs is in one control
# group, by which `stop` finds it. Images come from the engine that `test/engine/machine.sh` runs: CAI_TEST_IMAGES
# names those that `start` imports, and pushes to a registry that this machine and both nodes know by the same name
# (`env` tells it as CAI_TEST_REGISTRY, where the nodes find it as CAI_TEST_REGISTRY_OF_NODES, and the first image in it as CAI_TEST_K8S_IMAGE). The programs of Kubernetes are
# in $CAI_TEST_K8S_DIST, else in `dist` below; where there are none, `build.sh` makes them, once. All else is in
# $CAI_TEST_K8S_STATE, else in /var/lib/containai-test-kubernetes.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=cai-test-k8s
state=${CAI_TEST_K8S_STATE:-/var/lib/containai-test-kubernetes}
dist=${CAI_TEST_K8S_DIST:-$state/dist}
images=${CAI_TEST_IMAGES:-node:22-bookworm-slim}
log=$state/machine.log
bin=$state/bin
# Everything that belongs to a running cluster, and only that.
run=$state/run
# Which images the nodes have: "NAME ID", one a line.
imported=$run/imported
# Is there once a start has done all of its steps.
whole=$run/whole
nodes=(1 2)
processes=(registry registry-nodes etcd api-server controller-manager volume-opener scheduler)
for node in "${nodes[@]}"; do processes+=("containerd-node$node" "kubelet-node$node"); done
start_timeout_s=120
stop_timeout_s=30
export KUBECONFIG=$run/admin.conf

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

# awaited PROCESS COMMAND...: repeats the command until it succeeds, which needs that process of the cluster.
awaited() {
  local process=$1 deadline=$((SECONDS + start_timeout_s))
  shift
  until "$@" >/dev/null 2>&1; do
    if ! process_id "$process" >/dev/null || ((SECONDS >= deadline)); then
      tail -n 20 "$run/log/$process.log" >&2
      fail "$process does not do what it should: $*; above are the last lines of its log"
    fi
    sleep 0.1
  done
}

# shellcheck source-path=SCRIPTDIR source=machine-processes.sh
source "$here/machine-processes.sh"
# shellcheck source-path=SCRIPTDIR source=machine-places.sh
source "$here/machine-places.sh"
# shellcheck source-path=SCRIPTDIR source=machine-control-plane.sh
source "$here/machine-control-plane.sh"
# shellcheck source-path=SCRIPTDIR source=machine-node.sh
source "$here/machine-node.sh"
# shellcheck source-path=SCRIPTDIR source=machine-images.sh
source "$here/machine-images.sh"
# shellcheck source-path=SCRIPTDIR source=machine-registry.sh
source "$here/machine-registry.sh"

is_missing() { ! command -v "$1" >/dev/null; }

# None of them starts a service. containerd, which does, comes with the engine that the images come from.
install_packages() {
  local packages=()
  if is_missing containerd || is_missing docker; then fail 'containerd is missing: run "test/engine/machine.sh start" first'; fi
  if is_missing ip; then packages+=(iproute2); fi
  if is_missing ebtables-nft; then packages+=(iptables); fi
  if is_missing openssl; then packages+=(openssl); fi
  if is_missing xz; then packages+=(xz-utils); fi
  if ((${#packages[@]} == 0)); then return; fi
  say "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  logged 'apt cannot read its mirrors' apt-get update
  logged "apt cannot install ${packages[*]}" apt-get install -y --no-install-recommends "${packages[@]}"
}

# The programs, from what `build.sh` has packed, now or on another machine.
unpack_programs() {
  local program
  if [[ ! -e $dist/hyperkube.xz ]]; then
    if [[ -e $bin/kubectl ]]; then return; fi
    say "building Kubernetes in $dist, which takes about ten minutes"
    logged 'Kubernetes cannot be built' "$here/build.sh" "$dist"
  fi
  install -d -m 755 "$bin" "$bin/cni"
  for program in hyperkube etcd busybox; do
    # It has the time of what it was unpacked from.
    if [[ -e $bin/$program && ! $bin/$program -nt $dist/$program.xz && ! $bin/$program -ot $dist/$program.xz ]]; then continue; fi
    xz --decompress --stdout "$dist/$program.xz" >"$bin/$program.new"
    chmod 755 "$bin/$program.new"
    touch --reference "$dist/$program.xz" "$bin/$program.new"
    mv "$bin/$program.new" "$bin/$program"
  done
  tar --extract --file "$dist/cni-plugins.tar.xz" --directory "$bin/cni"
  ln -sf hyperkube "$bin/kubectl"
}

kubectl() { "$bin/kubectl" --request-timeout=10s "$@"; }

api_answers() { [[ $(kubectl get --raw /readyz 2>/dev/null) == ok ]]; }

is_ready() {
  local condition='{.status.conditions[?(@.type=="Ready")].status}'
  [[ $(kubectl get node "$1" --output "jsonpath=$condition" 2>/dev/null) == True ]]
}

is_running() {
  local process node
  [[ -e $whole ]] || return
  for process in "${processes[@]}"; do process_id "$process" >/dev/null || return; done
  api_answers || return
  for node in "${nodes[@]}"; do is_ready "node$node" || return; done
}

start_cluster() {
  local node
  install -d -m 755 "$run" "$run/log"
  make_control_groups
  make_places
  make_certificates
  configure_registry
  start_process registry
  start_process registry-nodes
  start_process etcd
  start_process api-server
  for node in "${nodes[@]}"; do
    configure_node "$node"
    start_process "containerd-node$node"
  done
  import_pause_image
  awaited api-server api_answers
  start_process controller-manager
  start_process volume-opener
  start_process scheduler
  for node in "${nodes[@]}"; do start_process "kubelet-node$node"; done
  for node in "${nodes[@]}"; do awaited "kubelet-node$node" is_ready "node$node"; done
  offer_volumes
  # No pod can be made before.
  awaited controller-manager kubectl get serviceaccount default
  touch "$whole"
}

# Also takes away what is left of a cluster that ended with the machine, or whose start failed.
stop_cluster() {
  end_processes
  remove_places
  remove_control_groups
  rm -rf "$run"
}

start_process() {
  case $1 in
    registry) start_registry 127.0.0.1 "$1" ;;
    registry-nodes) start_registry "$host_address" "$1" ;;
    etcd) start_etcd ;;
    api-server) start_api_server ;;
    controller-manager) start_controller_manager ;;
    volume-opener) start_volume_opener ;;
    scheduler) start_scheduler ;;
    containerd-node*) start_containerd "${1#containerd-node}" ;;
    kubelet-node*) start_kubelet "${1#kubelet-node}" ;;
  esac
}

start() {
  local image missing=() unpushed=()
  install -d -m 711 "$state"
  exec 9>"$state/lock"
  flock 9
  : >"$log"
  install_packages
  unpack_programs
  unpack_registry
  if ! is_running; then
    stop_cluster
    start_cluster
  fi
  for image in $images; do
    if ! grep -qs "^$image " "$imported"; then missing+=("$image"); fi
    if ! grep -qsx "$image" "$pushed"; then unpushed+=("$image"); fi
  done
  if ((${#missing[@]} > 0)); then import_images "${missing[@]}" >/dev/null; fi
  if ((${#unpushed[@]} > 0)); then push_images "${unpushed[@]}"; fi
  say "ready: a cluster answers, of which $KUBECONFIG tells"
}

print_env() {
  if ! is_running; then fail 'no cluster answers: run "machine.sh start" first'; fi
  printf 'export %s=%q\n' CAI_TEST_K8S 1 CAI_TEST_K8S_STATE "$state" KUBECONFIG "$KUBECONFIG" \
    CAI_TEST_K8S_NODES "${nodes[*]/#/node}" CAI_TEST_K8S_KUBECTL "$bin/kubectl" \
    CAI_TEST_REGISTRY "$registry" CAI_TEST_REGISTRY_OF_NODES "$host_address:$registry_port" CAI_TEST_K8S_IMAGE "$registry/$(head -n 1 "$pushed")"
  # shellcheck disable=SC2016 # whoever evaluates it has the PATH
  printf 'export PATH="$PATH":%q\n' "$bin"
}

stop() {
  if [[ ! -d $state ]]; then return; fi
  exec 9>"$state/lock"
  flock 9
  stop_cluster
}

usage() {
  fail 'usage: machine.sh start | env | import IMAGE... | kill NAME [SIGNAL] | revive NAME | policy on|node|off | network NAME on|off | stop'
}

# expect_switch WORD CHOICE...: ends what is wrong about changing the network of a cluster.
expect_switch() {
  if [[ " ${*:2} " != *" $1 "* ]]; then usage; fi
  if ! process_id containerd-node1 >/dev/null; then fail 'no cluster runs: run "machine.sh start" first'; fi
}

if ((EUID != 0)); then fail 'only root can run a cluster'; fi
case "${1:-} $#" in
  'start 1') start ;;
  'env 1') print_env ;;
  'stop 1') stop ;;
  'import 1') usage ;;
  'import '*) import_images "${@:2}" ;;
  'kill 2' | 'kill 3') kill_process "${@:2}" ;;
  'revive 2') revive_process "$2" ;;
  'policy 2')
    expect_switch "$2" on node off
    set_policy "$2"
    ;;
  'network 3')
    expect_switch "$3" on off
    set_network "$2" "$3"
    ;;
  *) usage ;;
esac
