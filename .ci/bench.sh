# The benchmark suite in its quick forms: that it works, from job files to plots. Nothing follows from its figures here.

# Fio is used where it is there; the device is also measured without it.
step_bench() {
  built
  local results=$tmp/results.jsonl dir=$tmp/disk f
  mkdir "$dir"
  bench() { "$zurau" bench "$@" --quick --directory "$dir" --results "$results" >"$tmp/out" 2>"$tmp/said" || { cat "$tmp/out" "$tmp/said" >&2; fail "zurau bench $*"; }; }
  bench all fio-profiles/sync-append-dsync.fio --only '*-4k-*[18]'
  bench all fio-profiles/tail-read.fio --only '*-10000'
  bench device fio-profiles/group-commit.fio fio-profiles/catch-up-read.fio --native --only '*[t8w]'
  bench engine fio-profiles/beside-load.fio fio-profiles/mixed-load.fio
  (cd benchmarks/giouring && go build -ldflags=-checklinkname=0 -o "$tmp/zurau-giouring" .)
  PATH=$tmp:$PATH bench modes --bs 4k --logs 1 --giouring
  grep -q '"level":"giouring"' "$results" || fail "no figure of giouring's ring"
  serve "$tmp/zurau-data"
  bench broker fio-profiles/group-commit.fio --only 'writers-*' --bootstrap-server "$addr"
  orderly "$pid"
  apart benchmarks/charts
  (cd benchmarks/charts && go build "${mods[@]}" -o "$tmp/zurau-plot" .)
  PATH=$tmp:$PATH "$zurau" bench plot "$results" --out "$tmp/plots" >"$tmp/drawn"
  while read -r f; do
    [ -s "$f" ] || fail "zurau bench plot: $f is empty"
  done <"$tmp/drawn"
  if oracle "that the comparison with it runs"; then
    go run ./benchmarks/versus kafka --quick --check --rows P2,P3b,P6 --zurau "$zurau" --results "$tmp" --plots "$tmp/plots" >"$tmp/out" 2>"$tmp/said" || { cat "$tmp/out" "$tmp/said" >&2; fail "versus kafka --quick"; }
    [ -s "$tmp/plots/versus-ratios.svg" ] || fail "versus kafka: nothing is drawn"
  fi
  cp "$results" "$tmp/again.jsonl"
  "$zurau" bench compare "$results" "$tmp/again.jsonl" --all >"$tmp/compared" || fail "zurau bench compare"
  grep -q 'better, 0 worse' "$tmp/compared" || { tail -5 "$tmp/compared" >&2; fail "a file of results differs from itself"; }
  say "$(grep -c '"kind":"run"' "$results") runs, $(wc -l <"$tmp/drawn") plots"
}

# The stores that the engine is compared with are a module of their own. Compiling them takes minutes once.
step_embedded() { apart benchmarks/versus/embedded; }

# apart DIR [ARGS...]: vets and tests a module of its own. It has a copy of its go.mod, which a change of the main module's may make incomplete.
apart() {
  cp "$1/go.mod" "$tmp/apart.mod"
  cp "$1/go.sum" "$tmp/apart.sum"
  mods=(-modfile="$tmp/apart.mod" -mod=mod)
  (cd "$1" && go vet "${mods[@]}" ./... && go test "${mods[@]}" "${@:2}" ./...)
}
