# shellcheck shell=bash disable=SC2154
# The processes of the cluster, for machine.sh, which sources this: in control groups of their own, below $name:
# `system` has those that it starts and their children, `node1` and `node2` the pods of each node.

# Where control groups are made: every hierarchy of version 1, and that of version 2. Tried where version 1 has
# the controllers.
hierarchies() { findmnt --noheadings --raw --output TARGET --types cgroup,cgroup2; }

# The control group in which all processes are found.
members() {
  if [[ -d /sys/fs/cgroup/pids ]]; then echo "/sys/fs/cgroup/pids/$name"; else echo "/sys/fs/cgroup/$name"; fi
}

make_control_groups() {
  local hierarchy group folder above file
  for hierarchy in $(hierarchies); do
    for group in "$name" "$name/system" "${nodes[@]/#/$name/node}"; do
      folder=$hierarchy/$group
      above=${folder%/*}
      if [[ $hierarchy == /sys/fs/cgroup ]]; then
        # Version 2 alone: a group has the controllers that the one above it hands down.
        sed 's/[a-z]\+/+&/g' "$above/cgroup.controllers" >"$above/cgroup.subtree_control"
      fi
      mkdir -p "$folder"
      for file in cpuset.cpus cpuset.mems; do
        # Version 1: without these it takes no process.
        if [[ -e $above/$file ]]; then cat "$above/$file" >"$folder/$file"; fi
      done
    done
  done
}

remove_control_groups() {
  local hierarchy deadline=$((SECONDS + stop_timeout_s))
  for hierarchy in $(hierarchies); do
    # A process that has just ended keeps its group for a moment.
    until [[ ! -d $hierarchy/$name ]] || find "$hierarchy/$name" -depth -type d -exec rmdir {} + 2>/dev/null; do
      if ((SECONDS >= deadline)); then fail "the control group $hierarchy/$name cannot be removed"; fi
      sleep 0.1
    done
  done
}

# launch NAME PLACE COMMAND...: starts a process with the network and mounts of that place, or of this `machine`.
launch() (
  process=$1
  place=()
  if [[ $2 != machine ]]; then place=(--net="$run/places/$2.net" --mount="$run/places/$2.mounts"); fi
  cd /
  # It begins in the group that this shell is in, and so do its children.
  echo "$BASHPID" >"$(members)/system/cgroup.procs"
  setsid nsenter "${place[@]}" "${@:3}" </dev/null >>"$run/log/$process.log" 2>&1 9>&- &
  echo "$!" >"$run/$process.pid"
)

# Prints the id of a process of the cluster; fails if it does not run. The file alone may name somebody else.
process_id() {
  local pid
  pid=$(cat "$run/$1.pid" 2>/dev/null) &&
    grep -qsx "$pid" "$(members)/system/cgroup.procs" &&
    printf '%s' "$pid"
}

kill_process() {
  local process=$1 signal=${2:-KILL} pid
  pid=$(process_id "$process") || fail "no process $process of a cluster runs"
  kill -s "$signal" "$pid"
  if [[ $signal != KILL ]]; then return; fi
  while process_id "$process" >/dev/null; do sleep 0.01; done
}

revive_process() {
  local pid
  if [[ " ${processes[*]} " != *" $1 "* || ! -e $run/$1.pid ]]; then fail "no cluster has a process $1"; fi
  if pid=$(process_id "$1"); then kill -s CONT "$pid"; else start_process "$1"; fi
}

# Kills all that the cluster has started, pods among them.
end_processes() {
  local group pids deadline=$((SECONDS + stop_timeout_s))
  group=$(members)
  # What has ended meanwhile cannot be read, or killed.
  while pids=$(find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null || true) && [[ -n $pids ]]; do
    if ((SECONDS >= deadline)); then fail "processes do not end: ${pids//$'\n'/ }"; fi
    xargs <<<"$pids" kill -KILL 2>/dev/null || true
    sleep 0.05
  done
}
