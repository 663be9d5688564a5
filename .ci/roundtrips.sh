# Real files through the broker and back, byte for byte: a log of a million lines, a tar ball in records of 1 MB.

step_roundtrips() {
  local lines=$tmp/lines ball=$tmp/ball
  awk 'BEGIN { for (i = 1; i <= 1000000; i++) printf "2026-11-30T12:%02d:%02dZ host-%d GET /a/%d 200\n", i / 60 % 60, i % 60, i % 97, i }' >"$lines"
  # 300 MB: the start of what tar makes of Go's sources, and noise, which does not compress.
  tar c -C "$(go env GOROOT)" src 2>/dev/null | head -c 100000000 >"$ball" || true # tar complains that it was cut off
  head -c $((300000000 - $(stat -c %s "$ball"))) /dev/urandom >>"$ball"
  serve "$tmp/data"
  "$zurau" topic create -b "$addr" ball-zurau
  "$zurau" topic create -b "$addr" ball-kcat

  "$zurau" produce -b "$addr" lines-zurau "$lines"
  "$zurau" consume -b "$addr" lines-zurau --exit-at-end | cmp - "$lines" || fail "a million lines through zurau"
  "$zurau" produce -b "$addr" ball-zurau --record-bytes 1000000 "$ball"
  "$zurau" consume -b "$addr" ball-zurau --raw --exit-at-end | cmp - "$ball" || fail "300 MB through zurau"
  say "zurau produce and consume: $(stat -c %s "$lines") bytes of lines, $(stat -c %s "$ball") in records of 1 MB"

  kcat -q -b "$addr" -P -t lines-kcat -X enable.idempotence=true <"$lines"
  kcat -q -b "$addr" -C -t lines-kcat -o beginning -e | cmp - "$lines" || fail "a million lines through kcat"
  mkdir "$tmp/pieces"
  split -a 4 -b 1000000 "$ball" "$tmp/pieces/"
  kcat -q -b "$addr" -P -t ball-kcat -X enable.idempotence=true -X message.max.bytes=1048576 "$tmp"/pieces/*
  rm -r "$tmp/pieces"
  kcat -q -b "$addr" -C -t ball-kcat -D '' -o beginning -e | cmp - "$ball" || fail "300 MB through kcat"
  say "kcat: the same"

  console_roundtrips "$lines" "$ball"
  orderly $pid
}

# console_roundtrips LINES BALL: the same through Kafka's console tools, which know lines only: the ball goes in base64.
console_roundtrips() {
  oracle "that Kafka's console tools bring files back" || return 0
  local props=(--command-property max.request.size=1048576 --command-property batch.size=1000000)
  kafka console-producer --bootstrap-server "$addr" --topic lines-java <"$1" 2>"$tmp/java.log" || { cat "$tmp/java.log" >&2; fail "console-producer"; }
  console_consume lines-java "$(wc -l <"$1")" | cmp - "$1" || fail "a million lines through Kafka's console tools"
  base64 -w 1000000 "$2" >"$tmp/base64"
  kafka console-producer --bootstrap-server "$addr" --topic ball-java "${props[@]}" <"$tmp/base64" 2>"$tmp/java.log" ||
    { cat "$tmp/java.log" >&2; fail "console-producer"; }
  console_consume ball-java "$(wc -l <"$tmp/base64")" | base64 -d | cmp - "$2" || fail "300 MB through Kafka's console tools"
  say "Kafka's console tools: the same"
}

console_consume() {
  kafka console-consumer --bootstrap-server "$addr" --topic "$1" --from-beginning --max-messages "$2" --timeout-ms 60000 2>>"$tmp/java.log"
}
