# shellcheck shell=bash disable=SC2154
# The registry that nodes pull from, for machine.sh, which sources this. It has one name for all: this machine's own
# address, to which engines and `cai` connect without TLS. For the nodes that name stands for the machine's address on
# their network, where a second process serves the same files. Nobody else can connect.

registry_port=5217
registry=127.0.0.1:$registry_port
# Which images it has, one a line.
pushed=$run/pushed

# The program alone: the package would start a service.
unpack_registry() (
  if [[ -x $bin/docker-registry ]]; then exit; fi
  folder=$(mktemp -d "$state/registry-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  cd "$folder"
  logged 'apt cannot read its mirrors' apt-get update
  logged 'apt cannot fetch docker-registry' apt-get --option APT::Sandbox::User=root download docker-registry
  logged 'docker-registry cannot be unpacked' dpkg-deb --extract docker-registry_*.deb .
  install -D -m 755 usr/bin/docker-registry "$bin/docker-registry"
)

# What Docker keeps in a blob is found by its digest alone, so two processes need nothing in common but the files.
configure_registry() {
  cat >"$run/registry.yml" <<YAML
version: 0.1
log: { level: warn }
storage: { filesystem: { rootdirectory: $run/registry }, delete: { enabled: true } }
YAML
}

# start_registry ADDRESS PROCESS
start_registry() {
  launch "$2" machine env "REGISTRY_HTTP_ADDR=$1:$registry_port" "$bin/docker-registry" serve "$run/registry.yml"
  awaited "$2" bash -c ": </dev/tcp/$1/$registry_port"
}

# push_images IMAGE...: gives them to the registry, as $registry/IMAGE.
push_images() (
  use_engine
  for image in "$@"; do
    docker tag "$image" "$registry/$image"
    logged "the registry does not take $image" docker push "$registry/$image"
    docker rmi "$registry/$image" >>"$log"
    echo "$image" >>"$pushed"
  done
)
