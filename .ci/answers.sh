# Raw requests, and what Apache Kafka 4.4 answered to them.

# The cases of .ci/answers-not-yet.txt are expected to differ, each for the reason beside it; a case that differs and is
# not listed fails the run, and so does one that is listed and does not differ.
step_answers() {
  oracle "what zurau answers" || return 0
  cp -r "$shared/oracle/answers" "$tmp/answers"
  chmod -R u+w "$tmp/answers"
  (cd "$tmp/answers" && go build -mod=mod -o "$tmp/check" .)
  serve "$tmp/data"
  local cases
  cases="^($(paste -sd'|' "$tmp/answers/first-issue.txt"))\$"
  "$tmp/check" check "$addr" -cases "$cases" >"$tmp/out" || true
  tail -1 "$tmp/out"
  grep -q 'passed' <(tail -1 "$tmp/out") || { cat "$tmp/out" >&2; fail "the check did not come to its end"; }
  sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$tmp/out" | sort >"$tmp/differ"
  sed 's/#.*//; s/[[:space:]].*//; /^$/d' "$ci/answers-not-yet.txt" | sort >"$tmp/listed"
  comm -23 "$tmp/differ" "$tmp/listed" >"$tmp/new"
  comm -13 "$tmp/differ" "$tmp/listed" >"$tmp/mended"
  if [ -s "$tmp/new" ]; then
    grep -E "^FAIL ($(paste -sd'|' "$tmp/new")):" "$tmp/out" >&2
    fail "answers differ from Kafka's and are not in .ci/answers-not-yet.txt"
  fi
  [ ! -s "$tmp/mended" ] || fail "take out of .ci/answers-not-yet.txt, they are as Kafka's now: $(paste -sd' ' "$tmp/mended")"
  say "$(wc -l <"$tmp/listed") cases differ as .ci/answers-not-yet.txt says"
  orderly $pid
}
