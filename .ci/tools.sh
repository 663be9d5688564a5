# Kafka's own command-line tools: what they print against zurau is what they print against Kafka.

step_kafka_tools() {
  oracle "what Kafka's tools print" || return 0
  mkdir "$tmp/of_zurau" "$tmp/of_kafka"
  serve "$tmp/zurau-data"
  local zurau_addr=$addr zurau_pid=$pid
  serve_kafka "$tmp/kafka-data"
  local kafka_addr=$addr ask_zurau ask_kafka
  ask_all "$zurau_addr" "$tmp/of_zurau" &
  ask_zurau=$!
  started $ask_zurau
  ask_all "$kafka_addr" "$tmp/of_kafka" &
  ask_kafka=$!
  started $ask_kafka
  wait $ask_zurau && wait $ask_kafka || fail "a tool could not be run"
  normalise "$tmp/of_zurau"
  normalise "$tmp/of_kafka"
  diff -ru "$tmp/of_kafka" "$tmp/of_zurau" >&2 || fail "Kafka's tools print something else against zurau (+) than against Kafka (-)"
  # Two brokers that refuse everything would be alike: these say that they did not.
  grep -q '^0 errors\|^SUCCESS\|Successfully' "$tmp/of_zurau/client-compatibility" || { cat "$tmp/of_zurau/client-compatibility"; fail "client-compatibility"; }
  [ "$(wc -l <"$tmp/of_zurau/console-consumer")" = 1000 ] || fail "console-consumer did not print what console-producer was given"
  say "$(find "$tmp/of_zurau" -type f | wc -l) runs of tools print the same"
  grep -q level=ERROR "$tmp/zurau.log" && { cat "$tmp/zurau.log" >&2; fail "errors in the broker's log"; }
  orderly $zurau_pid
}

# ask NAME TOOL ARGS...: keeps what a tool prints, and how it ended.
ask() {
  local name=$1 status=0
  shift
  KAFKA_LOG_LEVEL=error kafka "$@" >"$out/$name" 2>&1 || status=$?
  echo "exit status $status" >>"$out/$name"
}

# ask_all ADDR DIR: asks a broker everything; a file in DIR for each question.
ask_all() {
  local b=(--bootstrap-server "$1") out=$2 lines
  lines=$(seq -f 'line %g' 1000)

  ask topics-create topics "${b[@]}" --create --topic t --partitions 2 --config retention.ms=3600000
  ask topics-create-again topics "${b[@]}" --create --topic t
  ask topics-create-bad topics "${b[@]}" --create --topic 'a/b'
  ask topics-create-bad-config topics "${b[@]}" --create --topic u --config retention.ms=soon
  ask topics-describe topics "${b[@]}" --describe --topic t
  ask topics-alter topics "${b[@]}" --alter --topic t --partitions 3
  ask topics-alter-fewer topics "${b[@]}" --alter --topic t --partitions 1
  ask topics-list topics "${b[@]}" --list

  ask configs-alter configs "${b[@]}" --alter --entity-type topics --entity-name t --add-config 'flush.messages=1,segment.bytes=1048576'
  ask configs-alter-unknown configs "${b[@]}" --alter --entity-type topics --entity-name t --add-config 'no.such.key=1'
  ask configs-describe configs "${b[@]}" --describe --entity-type topics --entity-name t
  ask configs-describe-all configs "${b[@]}" --describe --all --entity-type topics --entity-name t
  ask configs-delete configs "${b[@]}" --alter --entity-type topics --entity-name t --delete-config segment.bytes
  ask configs-broker configs "${b[@]}" --alter --entity-type brokers --entity-default --add-config 'log.retention.ms=7200000'
  ask configs-broker-describe configs "${b[@]}" --describe --entity-type brokers --entity-default

  ask client-compatibility client-compatibility "${b[@]}" --topic compatibility --offsets-for-times-supported true \
    --cluster-id-supported true --expect-record-too-large-exception false --num-cluster-nodes 1 --create-topics-supported true \
    --describe-acls-supported true --describe-configs-supported true --idempotent-producer-supported true

  ask console-producer console-producer "${b[@]}" --topic lines <<<"$lines"
  ask console-producer-keys console-producer "${b[@]}" --topic keys --reader-property parse.key=true --compression-codec zstd <<<"$(paste <(seq 100) <(seq -f 'v%g' 100))"
  KAFKA_LOG_LEVEL=off kafka console-consumer "${b[@]}" --topic lines --group lines --from-beginning --max-messages 1000 --timeout-ms 30000 >"$out/console-consumer" 2>/dev/null
  ask console-consumer-group console-consumer "${b[@]}" --topic keys --group console --from-beginning --max-messages 100 --timeout-ms 30000 \
    --formatter-property print.key=true --formatter-property print.partition=true --formatter-property print.offset=true

  ask verifiable-producer verifiable-producer "${b[@]}" --topic verified --max-messages 1000 --repeating-keys 10 --acks -1
  ask verifiable-consumer verifiable-consumer "${b[@]}" --topic verified --group-id verified --max-messages 1000 --verbose
  ask producer-perf-test producer-perf-test "${b[@]}" --topic perf --num-records 50000 --record-size 500 --throughput -1 --reporting-interval 600000
  ask consumer-perf-test consumer-perf-test "${b[@]}" --topic perf --num-records 50000 --group perf

  ask consumer-groups-list consumer-groups "${b[@]}" --list --state
  ask consumer-groups-describe consumer-groups "${b[@]}" --describe --group console
  ask consumer-groups-members consumer-groups "${b[@]}" --describe --group verified --members --verbose
  ask consumer-groups-state consumer-groups "${b[@]}" --describe --group verified --state
  ask consumer-groups-reset consumer-groups "${b[@]}" --reset-offsets --group console --topic keys --to-offset 40 --execute
  ask consumer-groups-after-reset consumer-groups "${b[@]}" --describe --group console
  ask consumer-groups-delete-offsets consumer-groups "${b[@]}" --delete-offsets --group console --topic keys
  ask consumer-groups-delete consumer-groups "${b[@]}" --delete --group console --group nobody
  ask groups-list groups "${b[@]}" --list

  ask get-offsets get-offsets "${b[@]}" --topic-partitions 't,lines,keys,verified,perf'
  ask get-offsets-earliest get-offsets "${b[@]}" --topic lines --time earliest
  ask get-offsets-max get-offsets "${b[@]}" --topic lines --time max-timestamp
  echo '{"version":1,"partitions":[{"topic":"lines","partition":0,"offset":300},{"topic":"t","partition":0,"offset":9}]}' >"$out.json"
  ask delete-records delete-records "${b[@]}" --offset-json-file "$out.json"
  ask get-offsets-after-delete get-offsets "${b[@]}" --topic lines --time earliest
  ask log-dirs log-dirs "${b[@]}" --describe --topic-list t,lines
  ask topics-delete topics "${b[@]}" --delete --topic t
  ask topics-delete-again topics "${b[@]}" --delete --topic t
  ask topics-list-after topics "${b[@]}" --list
}

# normalise DIR: takes out what is another one in every run: ids, addresses, times, rates, sizes, the order of lists.
normalise() {
  local f list
  for f in "$1"/*; do
    sed -E -i \
      -e 's/^[0-9]+ (\[.*\] (WARN|ERROR))/\1/; /^\tat /d' \
      -e 's/127\.0\.0\.1:[0-9]+/ADDR/g' \
      -e 's/\b[A-Za-z0-9_-]{22}\b/ID/g' \
      -e 's/"timestamp":[0-9]+/"timestamp":T/; s/"avg_throughput":[0-9.]+/"avg_throughput":N/' "$f"
  done
  for list in consumer-groups-list groups-list get-offsets delete-records; do
    sort -o "$1/$list" "$1/$list"
  done
  # Which poll brought what is a matter of time.
  sed -i '/"records_consumed"/d' "$1/verifiable-consumer"
  sed -i '/"offsets_committed"/{h;d}; ${H;x}' "$1/verifiable-consumer"
  sed -E -i 's/(sent|,) .*/\1/' "$1/producer-perf-test"
  sed -E -i 's/^[0-9-]+ [0-9:]+, [0-9-]+ [0-9:]+, ([0-9.]+), [0-9.]+, ([0-9]+),.*/\1 MB, \2 records/' "$1/consumer-perf-test"
  sed -E -i 's/^(lines:0):[0-9]+/\1:N/' "$1/get-offsets-max"
  sed -E -i 's/"logDir":"[^"]*"/"logDir":"DIR"/; s/"size":[1-9][0-9]*/"size":N/g; s/\{"partition"/\n&/g' "$1/log-dirs"
  sed -E -i 's/,$//; s/\],.*//' "$1/log-dirs"
  sort -o "$1/log-dirs" "$1/log-dirs"
  tr '"' "'" <"$1/topics-create-bad" >"$1.quotes" # the message is ours, but for its quotes the same
  mv "$1.quotes" "$1/topics-create-bad"
  sed -i '/^  zurau\./d' "$1/configs-describe-all" # keys of our own
}
