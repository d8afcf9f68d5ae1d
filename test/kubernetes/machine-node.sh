# shellcheck shell=bash disable=SC2154
# The nodes, for machine.sh, which sources this: containerd and kubelet.

configure_node() {
  local folder=$run/node$1
  install -d "$folder/cni" "$folder/registries/$registry"
  cat >"$folder/cni/pods.conflist" <<JSON
{ "cniVersion": "0.4.0", "name": "pods", "plugins": [{ "type": "bridge", "bridge": "pods", "isGateway": true,
  "hairpinMode": true, "ipam": { "type": "host-local", "dataDir": "$folder/addresses",
    "ranges": [[{ "subnet": "$(pods_of_node "$1")" }]], "routes": [{ "dst": "0.0.0.0/0" }] } }] }
JSON
  cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
state = "$folder/containerd-state"
[grpc]
  address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  # Where this script may not lower it, no container may have a lower one than its own.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$bin/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$folder/registries"
TOML
  cat >"$folder/registries/$registry/hosts.toml" <<TOML
server = "http://$host_address:$registry_port"
[host."http://$host_address:$registry_port"]
  capabilities = ["pull", "resolve"]
TOML
  # The files of this machine's disk are not the node's to clear, and it answers the API server alone.
  cat >"$folder/kubelet.yaml" <<YAML
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
authentication: { x509: { clientCAFile: $pki/ca.crt }, webhook: { enabled: true }, anonymous: { enabled: false } }
authorization: { mode: Webhook }
tlsCertFile: $pki/node$1.crt
tlsPrivateKeyFile: $pki/node$1.key
address: $(node_address "$1")
healthzPort: 0
cgroupDriver: cgroupfs
cgroupRoot: /$name/node$1
failSwapOn: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
resolvConf: ""
evictionHard: { memory.available: 100Mi, nodefs.available: 1% }
imageGCHighThresholdPercent: 100
kubeAPIQPS: 200
kubeAPIBurst: 400
nodeStatusUpdateFrequency: 1s
podPidsLimit: 1024
serializeImagePulls: false
syncFrequency: 10s
volumePluginDir: $folder/volume-plugins
YAML
}

start_containerd() {
  launch "containerd-node$1" "node$1" containerd --config "$run/node$1/containerd.toml" --log-level warn
  awaited "containerd-node$1" containerd_client "$1" version
}

start_kubelet() {
  local folder=$run/node$1
  launch "kubelet-node$1" "node$1" "$bin/hyperkube" kubelet --hostname-override "node$1" --node-ip "$(node_address "$1")" \
    --config "$folder/kubelet.yaml" --kubeconfig "$run/node$1.conf" --cert-dir "$pki" --root-dir "$folder/kubelet" \
    --seccomp-profile-root "$folder/kubelet/seccomp" \
    --container-runtime remote --container-runtime-endpoint "unix://$folder/containerd.sock"
}
