# shellcheck shell=bash disable=SC2154
# The images of the nodes, for machine.sh, which sources this. They come from the engine of the engine tests.

pause_image=localhost/cai-test-pause:1

# The client of a node's containerd.
containerd_client() { ctr --address "$run/node$1/containerd.sock" --namespace k8s.io "${@:2}"; }

# Makes `docker` reach the engine.
use_engine() {
  local settings
  settings=$("$here/../engine/machine.sh" env) || fail 'images come from the engine: run "test/engine/machine.sh start" first'
  eval "$settings"
}

# has_image NODE NAME
has_image() { containerd_client "$1" images list --quiet | grep -qx "$2"; }

# The container that holds the network of each pod runs this.
import_pause_image() (
  archive=$state/pause.tar
  if [[ ! -e $archive ]]; then
    use_engine
    tar --create --directory "$bin" busybox |
      docker import --change 'ENTRYPOINT ["/busybox", "sleep", "2147483647"]' - "$pause_image" >>"$log"
    docker save --output "$archive" "$pause_image"
    docker rmi "$pause_image" >>"$log"
  fi
  for node in "${nodes[@]}"; do
    logged "node$node does not take the image of pods" containerd_client "$node" images import "$archive"
  done
)

# import_images IMAGE...: gives them to both nodes, and prints "NAME ID" for each.
import_images() (
  archive=$run/images.tar
  if ! process_id containerd-node1 >/dev/null; then fail 'no cluster runs: run "machine.sh start" first'; fi
  use_engine
  trap 'rm -f "$archive"' EXIT
  logged "the engine does not give $*" docker save --output "$archive" "$@"
  imports=()
  for node in "${nodes[@]}"; do
    logged "node$node does not take $*" containerd_client "$node" images import "$archive" &
    imports+=("$!")
  done
  for import in "${imports[@]}"; do wait "$import"; done
  for image in "$@"; do
    id=$(docker image inspect --format '{{.Id}}' "$image")
    # Kubernetes knows an image by its id, a moment after containerd has it.
    for node in "${nodes[@]}"; do awaited "containerd-node$node" has_image "$node" "$id"; done
    echo "$image $id" | tee --append "$imported"
  done
)
