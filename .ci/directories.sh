# Log directories on their way: from Kafka to zurau, back, and to zurau again, one with applications of Kafka Streams among those who write
# in it, and two of one broker; and then Kafka's dump tool over the files of the first.

step_directories() {
  oracle "that directories of Kafka go to zurau and back" || return 0
  built
  kafka install >/dev/null
  streams_here
  ZURAU_BINARY=$zurau ZURAU_KAFKA=$shared/oracle/kafka ZURAU_STREAMS=$streams ZURAU_DIRECTORY=$tmp/kafka \
    go test -count=1 -timeout 40m -v ./tests/directories >"$tmp/out" 2>&1 || { grep -v '^=== ' "$tmp/out" | tail -60 >&2; fail "tests/directories"; }
  grep -E '^ok|^ *--- (PASS|SKIP)|[0-9] s: ' "$tmp/out"
  compacted=changelog
  dump_all "$tmp/kafka/data"
}

# streams_here: $streams is the jar of Kafka Streams, of the version of the oracle. Beside it nothing is needed that the oracle does not
# have: the stores of the applications are in memory, not in RocksDB.
streams_here() {
  local home=${ORACLE_HOME:-$HOME/.cache/zurau-oracle} version
  version=$(basename "$home"/libs/kafka-clients-*.jar .jar)
  version=${version#kafka-clients-}
  streams=$home/streams/kafka-streams-$version.jar
  [ ! -e "$streams" ] || return 0
  mvn -q -B dependency:copy -Dartifact="org.apache.kafka:kafka-streams:$version" -DoutputDirectory="$home/streams" >"$tmp/mvn.log" 2>&1 ||
    { tail -20 "$tmp/mvn.log" >&2; fail "mvn dependency:copy of Kafka Streams $version"; }
}
