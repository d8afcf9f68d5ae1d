# shellcheck shell=bash disable=SC2154
# The control plane, for machine.sh, which sources this: certificates, etcd, API server, controller manager and
# scheduler. Source of all options: `hyperkube PROGRAM --help`.

pki=$run/pki
services=$network.128.0/24
first_service=$network.128.1
etcd_address=http://127.0.0.1:2379

# key FILE
key() { logged "the key $1 cannot be made" openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

# certificate FILE SUBJECT [NAMES]: signed by the cluster's own authority, with its key beside it.
certificate() {
  local names=${3:+subjectAltName=$3}
  key "$pki/$1.key"
  logged "$1 cannot be requested" openssl req -new -key "$pki/$1.key" -subj "$2" -out "$pki/$1.csr"
  printf '%s\n' keyUsage=digitalSignature,keyEncipherment extendedKeyUsage=serverAuth,clientAuth "$names" >"$pki/$1.extensions"
  logged "$1 cannot be signed" openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" \
    -CAcreateserial -days 30 -extfile "$pki/$1.extensions" -out "$pki/$1.crt"
}

# client NAME SUBJECT [NAMES]: a certificate, and a configuration for whoever talks to the API server with it.
client() {
  certificate "$@"
  cat >"$run/$1.conf" <<JSON
{ "apiVersion": "v1", "kind": "Config", "current-context": "test",
  "clusters": [{ "name": "test", "cluster": { "server": "https://$control_plane_address:6443",
    "certificate-authority-data": "$(base64 --wrap 0 "$pki/ca.crt")" } }],
  "users": [{ "name": "$1", "user": {
    "client-certificate-data": "$(base64 --wrap 0 "$pki/$1.crt")",
    "client-key-data": "$(base64 --wrap 0 "$pki/$1.key")" } }],
  "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "$1" } }] }
JSON
  chmod 600 "$run/$1.conf"
}

make_certificates() {
  local node
  install -d -m 700 "$pki"
  key "$pki/ca.key"
  logged 'the authority cannot be made' \
    openssl req -x509 -new -key "$pki/ca.key" -subj "/CN=$name" -days 30 -out "$pki/ca.crt"
  # It signs the tokens of service accounts.
  key "$pki/tokens.key"
  certificate api-server /CN=kube-apiserver "IP:$control_plane_address,IP:$first_service,DNS:kubernetes.default.svc"
  certificate api-server-client /O=system:masters/CN=kube-apiserver-kubelet-client
  client admin /O=system:masters/CN=admin
  client controller-manager /CN=system:kube-controller-manager
  client scheduler /CN=system:kube-scheduler
  for node in "${nodes[@]}"; do
    client "node$node" "/O=system:nodes/CN=system:node:node$node" "IP:$(node_address "$node"),DNS:node$node"
  done
}

start_etcd() {
  launch etcd control-plane "$bin/etcd" --data-dir "$run/etcd" --log-level warn --unsafe-no-fsync \
    --listen-client-urls "$etcd_address" --advertise-client-urls "$etcd_address" \
    --listen-peer-urls http://127.0.0.1:2380
}

start_api_server() {
  launch api-server control-plane "$bin/hyperkube" kube-apiserver --etcd-servers "$etcd_address" \
    --advertise-address "$control_plane_address" --secure-port 6443 --service-cluster-ip-range "$services" \
    --tls-cert-file "$pki/api-server.crt" --tls-private-key-file "$pki/api-server.key" \
    --client-ca-file "$pki/ca.crt" --cert-dir "$pki" \
    --kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP \
    --kubelet-client-certificate "$pki/api-server-client.crt" --kubelet-client-key "$pki/api-server-client.key" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$pki/tokens.key" \
    --service-account-signing-key-file "$pki/tokens.key" \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged=true
}

# It makes volumes as folders of this machine, which both nodes have.
start_controller_manager() {
  local conf=$run/controller-manager.conf
  launch controller-manager control-plane "$bin/hyperkube" kube-controller-manager --leader-elect=false \
    --kubeconfig "$conf" --authentication-kubeconfig "$conf" --authorization-kubeconfig "$conf" \
    --use-service-account-credentials --service-account-private-key-file "$pki/tokens.key" \
    --root-ca-file "$pki/ca.crt" --cert-dir "$pki" --port 0 \
    --kube-api-qps 200 --kube-api-burst 400 --pvclaimbinder-sync-period 1s \
    --enable-hostpath-provisioner --flex-volume-plugin-dir "$run/volume-plugins"
}

# Other kinds of volumes belong to the group that a pod asks for (fsGroup). Folders do not, so this lets everybody write.
start_volume_opener() {
  # shellcheck disable=SC2016 # the inner shell puts it in
  launch volume-opener machine bash -c 'while sleep 0.2; do find "$1" -mindepth 1 -maxdepth 1 -perm 750 -exec chmod 777 {} +; done' \
    bash "$run/volumes"
}

# The class of all volumes.
class_of_volumes='{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kubernetes.io/host-path",
  "metadata": {"name": "folders", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}'

offer_volumes() {
  echo "$class_of_volumes" >"$run/volumes.json"
  logged 'volumes cannot be offered' kubectl apply --filename "$run/volumes.json"
}

start_scheduler() {
  local conf=$run/scheduler.conf
  launch scheduler control-plane "$bin/hyperkube" kube-scheduler --leader-elect=false \
    --kubeconfig "$conf" --authentication-kubeconfig "$conf" --authorization-kubeconfig "$conf" \
    --cert-dir "$pki" --port 0
}
