# The Go side: form, tests, races, the ring beside giouring, fuzz targets.

staticcheck_version=v0.8.2

step_format() {
  local bad
  bad=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
  [ -z "$bad" ] || fail "not as gofmt writes it: $bad"
}

step_vet() { go vet ./...; }

step_staticcheck() { go run honnef.co/go/tools/cmd/staticcheck@$staticcheck_version ./...; }

# The README's command. Its closing lines are go's own.
step_test() { go test ./...; }

# Packages in which goroutines meet; the tests on whole processes run with a broker that looks for races.
step_race() {
  # The enumerations of faults meet one call after the other: what goes on beside each other is in the other tests.
  local one='^Test(EachDiskCallThatFailsOnce|AKillOrAPowerCutInFrontOf|ARecoveryMayFailAtAnyCall|SeveralFaultsInOneRun|TheTestsFindEachPlanted|AHotLogSurvivesAKill|ACutBeforeAnyDiskCall|AnEngineIsWhatListsSay)'
  go test -race -skip "$one" ./engine
  go test -race ./engine/fs ./engine/index ./engine/segment ./netio ./replication/... ./server/... ./uring
  go build -race -o "$tmp/zurau" ./tools/zurau
  ZURAU_BINARY=$tmp/zurau GORACE="halt_on_error=1" go test ./tests/clients ./tests/kill ./tests/readers
}

# A library must work where there is one processor, and so must the broker.
step_single() {
  GOMAXPROCS=1 go test -cpu 1 -count=1 ./engine ./engine/fs ./netio ./replication/... ./server/... ./uring ./tests/clients ./tests/kill
}

# giouring needs a linker flag, so what uses it are modules of their own: the comparison, and its level of the benchmarks.
step_ring() {
  local module
  for module in uring/giouringcheck benchmarks/giouring; do
    (cd $module && go vet ./... && go test -ldflags=-checklinkname=0 ./...)
  done
}

# Bugs that are put into the engine, each of which its tests have to find.
step_planted() { ZURAU_LONG=1 go test -count=1 -timeout 20m -run '^TestTheTestsFindEachPlantedBug$' ./engine; }

# A few seconds for each fuzz target: what it found before is in testdata and runs in step test.
step_fuzz() {
  local file target package
  git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | while read -r file; do
    package=./$(dirname "$file")
    grep -o '^func Fuzz[A-Za-z0-9_]*' "$file" | cut -c6- | while read -r target; do
      go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-2s}" "$package" >"$tmp/out" 2>&1 ||
        at_its_end "$tmp/out" || { cat "$tmp/out" >&2; fail "$package $target"; }
      printf '%s %s: %s\n' "$package" "$target" "$(grep -o 'execs: [0-9]*' "$tmp/out" | tail -1)"
    done
  done
}

# at_its_end FILE: whether a fuzz run failed only because its time was up while an input ran, which go test counts as a
# failure without an input.
at_its_end() { grep -q 'context deadline exceeded' "$1" && ! grep -q 'Failing input' "$1"; }
