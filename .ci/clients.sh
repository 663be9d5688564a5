# Clients that are not Go's: kcat (librdkafka) and Python. Java's are Kafka's own tools, see tools.sh; Go's are in tests/.

step_kcat() {
  serve "$tmp/data"
  local codec partition
  seq -f 'record %g of a run' 20000 >"$tmp/lines"
  for codec in none gzip snappy lz4 zstd; do
    kcat -q -b "$addr" -P -t "kcat-$codec" -z $codec -X enable.idempotence=true <"$tmp/lines"
    kcat -q -b "$addr" -C -t "kcat-$codec" -o beginning -e >"$tmp/back"
    expect "$tmp/back" "$tmp/lines"
  done
  say "five codecs, idempotent, come back"

  "$zurau" topic create -b "$addr" spread --partitions 4
  kcat -q -b "$addr" -P -t spread -K: <<<"$(paste -d: <(seq 4000) <(seq 4000))"
  kcat -q -b "$addr" -G watchers -X auto.offset.reset=earliest -e spread 2>"$tmp/group" | sort -n >"$tmp/back"
  expect "$tmp/back" <(seq 4000)
  kcat -q -b "$addr" -P -t spread <<<"one more"
  kcat -q -b "$addr" -G watchers -X auto.offset.reset=earliest -e spread >"$tmp/back" 2>>"$tmp/group"
  expect "$tmp/back" <(echo "one more")
  say "a group goes on where it committed"

  kcat -b "$addr" -L -t spread | tee "$tmp/list" | grep -q 'with 4 partitions' || { cat "$tmp/list" >&2; fail "kcat -L"; }
  for partition in 0 1 2 3; do
    kcat -b "$addr" -Q -t "spread:$partition:-1"
  done
  kcat -q -b "$addr" -C -t spread -o -10 -e -f '%p %o %k %T\n' | wc -l | grep -qx 40 || fail "the last ten of each partition"
  orderly $pid
}

step_python() {
  python_here
  serve "$tmp/data"
  "$python" "$ci/clients.py" "$addr"
  orderly $pid
}
