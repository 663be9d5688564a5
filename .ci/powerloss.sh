# Power that goes while logs are written: real file systems on loop devices, in a mount namespace of the tests' own.

# The tests say themselves what cannot be had here (root, loop devices, FUSE, mkfs) and what they skip for it.
step_powerloss() {
  built
  ZURAU_BINARY=$zurau apart tests/powerloss -count=1 -v >"$tmp/out" 2>&1 || { grep -v '^=== ' "$tmp/out" | tail -60 >&2; fail "tests/powerloss"; }
  grep -E '^(ok|---)|^ *--- (PASS|SKIP)|no power can be taken away' "$tmp/out" | grep -vE '^\? ' | sed -n '1,60p'
}
