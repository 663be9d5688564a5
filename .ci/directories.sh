# Log directories that go from Apache Kafka to zurau and back.

step_directories() {
  oracle "that directories of Kafka go to zurau and back" || return 0
  built
  kafka install
  ZURAU_LONG=1 ZURAU_BINARY=$zurau go test -count=1 -timeout 40m -v ./tests/directories >"$tmp/out" 2>&1 ||
    { grep -v '^=== ' "$tmp/out" | tail -60 >&2; fail "tests/directories"; }
  grep -E '^ok|^ *--- (PASS|SKIP)' "$tmp/out"
}
