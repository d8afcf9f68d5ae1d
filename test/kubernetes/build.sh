#!/usr/bin/env bash
# build.sh FOLDER: puts the programs of a Kubernetes cluster into this folder, packed, for `machine.sh`:
# Kubernetes 1.20 as one program, which is told which one to be, etcd, busybox and plugins for networks.
#
# Debian has the source of Kubernetes, but no program of it other than the client, and the rest as packages.
# Sources, compiler and packages come from the machine's own apt sources and are only unpacked, into a folder
# beside FOLDER that is removed afterwards: nothing is installed. Needs 4 GB of room there.
set -euo pipefail

dist=$1
release=bookworm
go_version=1.19
# No clouds, and no engine but containerd.
tags=providerless,dockerless
install -d "$dist"
work=$(mktemp -d "${dist%/}-build-XXXXXX")
trap 'rm -rf "$work"' EXIT

# Fetches the packages named, unpacked in $work/root, and the source of Kubernetes, in $work/kubernetes.
fetch() {
  local list package
  local options=(--quiet -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cached" -o APT::Sandbox::User=root)
  install -d "$work/lists/partial" "$work/cached/archives/partial" "$work/root" "$work/packages"
  # The machine's own, which may have no sources.
  # shellcheck disable=SC2016 # apt puts them in
  list=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sort --unique | grep -E " $release([-/](updates|security))? ")
  sed 's/^/deb /; p; s/^deb/deb-src/' <<<"$list" >"$work/sources.list"
  apt-get "${options[@]}" update
  cd "$work/packages"
  apt-get "${options[@]}" download "$@"
  for package in ./*.deb; do dpkg --extract "$package" "$work/root"; done
  cd "$work"
  apt-get "${options[@]}" source kubernetes
  mv kubernetes-1.20*/ kubernetes
}

# The only generated file that the source lacks describes its types to clients.
generate() {
  local output=pkg/generated/openapi folders
  if [[ -s $output/zz_generated.openapi.go ]]; then return; fi
  go build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  folders=$(grep --recursive --files-with-matches --include='*.go' '+k8s:openapi-gen=' pkg vendor/k8s.io/*/ |
    grep --invert-match --extended-regexp \
      '_test\.go$|zz_generated|/testdata/|_examples|vendor/k8s.io/(code-generator|kube-openapi|gengo|sample-)' |
    xargs --max-args=1 dirname | LC_ALL=C sort --unique | sed 's#^#k8s.io/kubernetes/#' | paste --serial --delimiters=,)
  "$work/openapi-gen" --logtostderr --input-dirs "$folders" --output-package "k8s.io/kubernetes/$output" \
    --output-file-base zz_generated.openapi --go-header-file vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    --report-filename "$work/openapi-violations.txt"
}

# One program is a fifth of the size of all of them.
write_main() {
  install -d cmd/hyperkube
  cat >cmd/hyperkube/main.go <<'GO'
package main

import (
	goflag "flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth/exec"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 kubelet.NewKubeletCommand,
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

// Is the program that its own name says, or else its first argument.
func main() {
	rand.Seed(time.Now().UnixNano())
	name := filepath.Base(os.Args[0])
	if programs[name] == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	program := programs[name]
	if program == nil {
		fmt.Fprintln(os.Stderr, "there is no program", name)
		os.Exit(2)
	}
	if name == "kube-scheduler" || name == "kubectl" {
		pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	}
	if name == "kubectl" {
		pflag.CommandLine.AddGoFlagSet(goflag.CommandLine)
	}
	command := program()
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}
GO
}

compile() {
  local version linked='-s -w' package
  # Such as "kubernetes (1.20.5+really1.20.2-1.1) unstable".
  version=$(sed -n '1s/.*(\(.*really\)\?\([0-9.]*\).*/\2/p' debian/changelog)
  # The API server tells what the second says, all others the first.
  for package in component-base/version client-go/pkg/version; do
    package=k8s.io/kubernetes/vendor/k8s.io/$package
    linked+=" -X $package.gitVersion=v$version -X $package.gitMajor=1 -X $package.gitMinor=20"
  done
  go build -trimpath -tags "$tags" -ldflags "$linked" -o "$work/hyperkube" ./cmd/hyperkube
}

fetch "golang-$go_version-go" "golang-$go_version-src" etcd-server containernetworking-plugins busybox-static
# Only what is in the source is compiled. Its go.mod is too old for this compiler, so GOPATH it is.
export GOROOT=$work/root/usr/lib/go-$go_version GOPATH=$work/go GOCACHE=$work/cache HOME=$work
export TMPDIR=$work GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local GOFLAGS='' CGO_ENABLED=0 PATH=$work/root/usr/lib/go-$go_version/bin:$PATH
install -d "$GOPATH/src/k8s.io"
ln -s "$work/kubernetes" "$GOPATH/src/k8s.io/kubernetes"
cd "$GOPATH/src/k8s.io/kubernetes"
generate
write_main
compile

tar --create --directory "$work/root/usr/lib/cni" bridge host-local loopback | xz >"$dist/cni-plugins.tar.xz"
xz --stdout "$work/root/usr/bin/etcd" >"$dist/etcd.xz"
xz --stdout "$work/root/bin/busybox" >"$dist/busybox.xz"
# The last one: with it, all are there.
xz --stdout "$work/hyperkube" >"$work/hyperkube.xz"
mv "$work/hyperkube.xz" "$dist/hyperkube.xz"
