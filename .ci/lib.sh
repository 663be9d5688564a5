# What all steps use: names and times, temporary folders, processes that are stopped again.

running= # pids that a step has started and not stopped
current= # the step that runs

# run_step NAME: runs one step in a folder of its own ($tmp) and prints its name and time.
run_step() {
  current=$1
  printf '\n=== %s\n' "$current"
  local began=$SECONDS
  tmp=$work/$current
  mkdir -p "$tmp"
  "step_$current"
  stop_all
  rm -rf "$tmp"
  printf '=== %s: %d s\n' "$current" $((SECONDS - began))
  current=
}

# finish: at every end of the run, good or bad.
finish() {
  local status=$?
  stop_all
  [ -z "$current" ] || [ $status -eq 0 ] || printf '\n*** .ci/run failed in step %s\n' "$current" >&2
  rm -rf "$work"
  exit $status
}

# fail MESSAGE...: ends the run.
fail() {
  printf '*** %s\n' "$*" >&2
  exit 1
}

say() { printf -- '--- %s\n' "$*"; }

# skip MESSAGE...: says why a step, or a part of it, does nothing here.
skip() { printf -- '--- skipped: %s\n' "$*"; }

# started PID, or -PID where it was started by setsid: to be stopped at the end of the step.
started() { running="$running $1"; }

# stop PID [SIGNAL]: ends a process that this run has started, waits for it, and returns its exit status. With -PID it is
# the process and its children, where it was started by setsid.
stop() {
  running=" $running "
  running=${running/ $1 / }
  kill -"${2:-TERM}" -- "$1" 2>/dev/null || true
  wait "${1#-}" 2>/dev/null
}

stop_all() {
  local pid
  for pid in $running; do
    stop "$pid" KILL || true
  done
  running=
}

# has COMMAND...: whether all are there.
has() {
  local c
  for c in "$@"; do
    command -v "$c" >/dev/null || return 1
  done
}

# oracle: whether Apache Kafka can be asked. Says so where not.
oracle() {
  [ -e "$shared/oracle/kafka" ] && return
  skip "$1: this asks Apache Kafka by ../shared/oracle, which is not here"
  return 1
}

# kafka TOOL ARGS...: Apache Kafka's own tool.
kafka() { bash "$shared/oracle/kafka" "$@"; }

# expect FILE WANT: the files are the same, or the run ends with the difference.
expect() {
  local got=$1 want
  want=$(mktemp -p "$tmp")
  cat "$2" >"$want" # it may be a pipe
  cmp -s "$got" "$want" || { diff -u "$want" "$got" | head -40 >&2; fail "$got is not what was expected"; }
  rm "$want"
}
