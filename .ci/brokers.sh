# Brokers to ask: zurau and Kafka, each on a free port and a folder of its own.

# built: $zurau is the binary, made once.
built() {
  zurau=$work/zurau
  [ -e "$zurau" ] || go build -o "$zurau" ./tools/zurau
}

# serve DIR [ARGS...]: starts zurau on DIR and a free port; $addr and $pid are its. Waits for its ready line.
serve() {
  local dir=$1 line
  shift
  built
  mkfifo "$tmp/ready"
  "$zurau" serve --listen "${listen:-127.0.0.1:0}" --data "$dir" --set group.initial.rebalance.delay.ms=0 "$@" \
    >"$tmp/ready" 2>>"$tmp/zurau.log" &
  pid=$!
  started $pid
  line=
  read -r line <"$tmp/ready" || true
  rm "$tmp/ready"
  [ "${line%% *}" = ready ] || { tail -20 "$tmp/zurau.log" >&2; fail "zurau serve did not get ready"; }
  addr=${line#ready }
}

# orderly PID: stops zurau in order; its exit status must be 0.
orderly() { stop "$1" || { tail -20 "$tmp/zurau.log" >&2; fail "zurau serve ended badly after SIGTERM"; }; }

# free_port: prints a port such that it and the next one are free.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
    (exec 3<>"/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null && continue
    echo $port
    return
  done
}

# serve_kafka DIR [KEY=VALUE...]: starts Apache Kafka on DIR and a free port; $addr is its.
serve_kafka() {
  local dir=$1
  shift
  mkdir -p "$dir"
  addr=$(KAFKA_HEAP=400m kafka up "$dir" "$(free_port)" "$@") || fail "Kafka did not start"
  started "$(cat "$dir/pid")"
}

# The README's first command, on a fresh clone's cache: one line when clients can connect.
step_commands() {
  local line
  mkfifo "$tmp/out"
  setsid go run ./tools/zurau serve --listen 127.0.0.1:0 --data "$tmp/data" >"$tmp/out" 2>"$tmp/log" &
  pid=$!
  started -$pid
  read -r line <"$tmp/out" || { cat "$tmp/log" >&2; fail "go run ./tools/zurau serve"; }
  say "go run ./tools/zurau serve: $line"
  stop -$pid INT || true # go run, which then always fails, and the broker, its child
  [ -e "$tmp/data/.kafka_cleanshutdown" ] || { cat "$tmp/log" >&2; fail "the broker did not end in order"; }
  grep -q level=ERROR "$tmp/log" && { cat "$tmp/log" >&2; fail "errors in the broker's log"; }
  built
  local began took
  began=$(date +%s%N)
  serve "$tmp/own"
  took=$((($(date +%s%N) - began) / 1000000))
  say "the built binary is ready after $took ms"
  [ $took -le 1000 ] || fail "a start may take a second"
  seq 1000 >"$tmp/lines"
  "$zurau" topic create -b "$addr" numbers
  "$zurau" produce -b "$addr" numbers "$tmp/lines"
  "$zurau" consume -b "$addr" numbers --exit-at-end >"$tmp/back"
  expect "$tmp/back" "$tmp/lines"
  orderly $pid
  "$zurau" log verify "$tmp/own"
}
