#!/usr/bin/env bash
# Tests on podman, with an engine of their own that ends with them. As root:
#
#   podman.sh run ARGUMENT...   starts the engine, runs `run.mjs` with these arguments, and stops the engine
#   podman.sh stop              stops it, where `run` could not
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
export CAI_TEST_ENGINE=podman
unset CAI_TEST_STATE

case ${1:-} in
  run)
    trap '"$here/machine.sh" stop' EXIT
    "$here/machine.sh" start
    settings=$("$here/machine.sh" env)
    eval "$settings"
    node "$here/run.mjs" "${@:2}"
    ;;
  stop) "$here/machine.sh" stop ;;
  *)
    echo 'usage: podman.sh run ARGUMENT... | stop' >&2
    exit 2
    ;;
esac
