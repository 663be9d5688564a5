# Kafka's own dump tool over the files that zurau writes.

step_files() {
  oracle "that Kafka's dump-log reads zurau's files" || return 0
  serve "$tmp/data" --set log.retention.check.interval.ms=200
  local first=$pid
  write_codecs
  write_and_retain
  write_sync
  orderly $pid
  say "after an orderly stop"
  dump_all "$tmp/data"

  serve "$tmp/data" --set log.retention.check.interval.ms=200
  [ "$pid" != "$first" ] || fail "the same process"
  kill_under_load
  serve "$tmp/data"
  for t in codecs stamped kept sync busy; do
    seq 1000 | "$zurau" produce -b "$addr" $t
  done
  orderly $pid
  say "after kill -9 under load, a restart and an orderly stop"
  dump_all "$tmp/data"
  "$zurau" log verify --records "$tmp/data"
  planted "$tmp/data"
}

# write_codecs: five codecs in one rolled log with keys and headers, LogAppendTime, plain producers, a group's commits.
write_codecs() {
  local codec
  "$zurau" topic create -b "$addr" codecs --config segment.bytes=1048576
  "$zurau" topic create -b "$addr" stamped --config message.timestamp.type=LogAppendTime --config segment.bytes=1048576
  for codec in none gzip snappy lz4 zstd; do
    paste <(seq 60000) <(seq -f "$codec %g of many" 60000) |
      "$zurau" produce -b "$addr" codecs --key-separator '\t' --header "codec=$codec" --compression $codec --batch-bytes 20000
    seq 20000 | "$zurau" produce -b "$addr" stamped --compression $codec --acks 1 --batch-bytes 50000
  done
  "$zurau" consume -b "$addr" codecs --group readers --count 50000 >/dev/null
  [ -e "$tmp/data/codecs-0/00000000000000000000.log" ] && [ "$(find "$tmp/data/codecs-0" -name '*.log' | wc -l)" -gt 3 ] ||
    fail "the log of codecs-0 did not roll"
}

# write_and_retain: a log whose first segments retention has deleted, and one that was cut from its start by offset.
write_and_retain() {
  "$zurau" topic create -b "$addr" kept --config segment.bytes=1048576 --config file.delete.delay.ms=100
  seq 400000 | "$zurau" produce -b "$addr" kept --batch-bytes 50000
  "$zurau" topic alter -b "$addr" kept --config retention.bytes=2097152
  local i
  for i in $(seq 300); do
    [ -e "$tmp/data/kept-0/00000000000000000000.log" ] || return 0
    sleep 0.1
  done
  fail "retention.bytes deleted nothing in 30 s"
}

# write_sync: many small commits, each flushed before it is acknowledged.
write_sync() {
  "$zurau" topic create -b "$addr" sync --config flush.messages=1 --config segment.bytes=1048576
  local jobs=() i
  for i in $(seq 8); do
    seq -f "writer $i: %g" 3000 | "$zurau" produce -b "$addr" sync --batch-bytes 500 --linger 0s &
    jobs+=($!)
  done
  for i in "${jobs[@]}"; do
    wait "$i" || fail "produce to sync"
  done
}

# kill_under_load: kills the broker while it appends to a sync and to an async log.
kill_under_load() {
  "$zurau" topic create -b "$addr" busy --partitions 3 --config segment.bytes=1048576
  local jobs=() topic before
  before=$(du -sb "$tmp/data/sync-0" | cut -f1)
  for topic in busy sync; do
    seq 100000000 | "$zurau" produce -b "$addr" $topic --batch-bytes 2000 --delivery-timeout 1s >/dev/null 2>&1 &
    started $!
    jobs+=($!)
  done
  local i
  for i in $(seq 300); do
    [ ! -d "$tmp/data/busy-0" ] || [ "$(du -sb "$tmp/data/sync-0" | cut -f1)" -lt $((before + 500000)) ] || break
    sleep 0.1
  done
  stop "$pid" KILL || true
  for i in "${jobs[@]}"; do
    stop "$i" KILL || true
  done
}

# dump_all DIR: Kafka's dump tool on every log, index and snapshot of a directory. Each line that it prints has to be one
# that says that all is well.
dump_all() {
  local files
  files=$(find "$1" -path '*-[0-9]*/*' ! -path '*/__cluster_metadata-0/*' \( -name '*.log' -o -name '*.index' -o -name '*.timeindex' -o -name '*.snapshot' \) | sort)
  dump --deep-iteration "$files"
  dump --index-sanity-check "$(grep 'index$' <<<"$files")"
  dump --verify-index-only "$(grep 'index$' <<<"$files")"
  say "dump-log has no complaint about $(wc -l <<<"$files") files and $(grep -c '^| offset' "$tmp/dumped.deep-iteration") records"
}

# dump FLAG FILES: the tool on all files, some hundred at a time. What it printed stays in $tmp/dumped.FLAG.
dump() {
  local out="$tmp/dumped.${1#--}" some
  : >"$out" >"$out.errors"
  while read -r some; do
    kafka dump-log "$1" --files "$some" >>"$out" 2>>"$out.errors" </dev/null || { tail -20 "$out.errors" >&2; fail "dump-log $1"; }
  done < <(xargs -n 300 <<<"$2" | tr ' ' ',')
  complaints "$out" >"$tmp/complaints"
  [ ! -s "$tmp/complaints" ] || { head -20 "$tmp/complaints" >&2; fail "dump-log $1 complains"; }
}

# complaints FILE: prints the lines of a dump that are not of a file in order. Kafka, too, leaves an index of a small segment
# empty. Of a segment that does not begin at offset 0
# the tool always says that "-1 is followed by" its base offset, and of the topic $compacted that offsets are missing.
complaints() {
  grep -vE \
    -e '^Dumping /' -e '^Log starting offset: [0-9]+$' -e '^Snapshot end offset: ' \
    -e '^baseOffset: .* isvalid: true$' -e '^\| offset: [0-9]+ ' \
    -e '^offset: [0-9]+ position: [0-9]+$' -e '^timestamp: [0-9]+ offset: [0-9]+$' \
    -e '^producerId: [0-9]+ producerEpoch: ' -e ' passed sanity check\.$' -e '\.index is empty\.$' "$1" || true
  awk -v "compacted=/${compacted:-}-" '/^Non-consecutive offsets in /{file=$NF; next}
    compacted != "/-" && index(file, compacted) && / is followed by / && $1 + 0 < $NF + 0 {next}
    match(file, /[0-9]+\.log$/) && $0 ~ /^  -1 is followed by [0-9]+$/ && $NF == substr(file, RSTART, 20) + 0 {next}
    {print}' "$1.errors"
}

# planted DIR: the check finds a changed byte in a log, and an index that leads astray.
planted() {
  local log at
  log=$(find "$1/codecs-0" -name '*.log' | sort | sed -n 2p)
  for at in log:500 index:4; do
    cp "$log" "${log%.log}.index" "$tmp/"
    local file
    file=$tmp/$(basename "${log%.log}").${at%:*}
    printf 'x' | dd of="$file" bs=1 seek="${at#*:}" conv=notrunc status=none
    kafka dump-log --deep-iteration --files "$file" >"$tmp/planted" 2>"$tmp/planted.errors" || true
    [ -n "$(complaints "$tmp/planted")" ] || fail "a damaged .${at%:*} is not noticed: this check is worth nothing"
  done
  say "and it does complain about a changed byte"
}
